#include "kernels/cpu/phrases.h"

#include <algorithm>

namespace hone::kernels {
namespace {

// Columns that are summed together, on the stack.
constexpr int64_t kColumns = 128;

/// Calls body(place, begin, end) for each of a text's phrases.
template <typename Body>
void each_phrase(const PhrasePlaces& places, int64_t text, const Body& body) {
  for (int64_t place = places.phrases[text]; place < places.phrases[text + 1]; ++place) {
    const int64_t begin = places.spans[2 * place], end = places.spans[2 * place + 1];
    if (begin < end) body(place, begin, end);
  }
}

int64_t count_phrases(const PhrasePlaces& places, int64_t text) {
  int64_t count = 0;
  each_phrase(places, text, [&](int64_t, int64_t, int64_t) { ++count; });
  return count;
}

/// Calls body(first, sums) for blocks of columns with the sums of rows [begin, end) of x.
template <typename T, typename Body>
void each_sum(const T* x, int64_t begin, int64_t end, int64_t width, const Body& body) {
  T sums[kColumns];
  for (int64_t first = 0; first < width; first += kColumns) {
    const int64_t columns = std::min(kColumns, width - first);
    std::fill_n(sums, columns, T{0});
    for (int64_t row = begin; row < end; ++row) {
      const T* from = x + row * width + first;
      for (int64_t i = 0; i < columns; ++i) sums[i] += from[i];
    }
    body(first, columns, sums);
  }
}

}  // namespace

template <typename T>
void phrase_rows(const T* x, const T* u, const PhrasePlaces& places, int64_t width, T* y,
                 ThreadPool& pool) {
  pool.run(places.texts, [&](int64_t text, int) {
    std::fill(y + places.phrases[text] * width, y + places.phrases[text + 1] * width, T{0});
    const T* sentence = u + text * width;
    each_phrase(places, text, [&](int64_t place, int64_t begin, int64_t end) {
      const T count = static_cast<T>(end - begin);
      each_sum(x, begin, end, width, [&](int64_t first, int64_t columns, const T* sums) {
        T* out = y + place * width + first;
        for (int64_t i = 0; i < columns; ++i) {
          out[i] = std::max(T{0}, sums[i] / count) - sentence[first + i];
        }
      });
    });
  });
}

template <typename T>
void phrase_rows_backward(const T* dy, const T* x, const PhrasePlaces& places, int64_t width, T* dx,
                          T* du, ThreadPool& pool) {
  pool.run(places.texts, [&](int64_t text, int) {
    if (dx) std::fill(dx + places.tokens[text] * width, dx + places.tokens[text + 1] * width, T{0});
    T* const sentence = du ? du + text * width : nullptr;
    if (sentence) std::fill_n(sentence, width, T{0});
    each_phrase(places, text, [&](int64_t place, int64_t begin, int64_t end) {
      const T* from = dy + place * width;
      for (int64_t i = 0; sentence && i < width; ++i) sentence[i] -= from[i];
      if (!dx) return;
      const T share = T{1} / static_cast<T>(end - begin);
      each_sum(x, begin, end, width, [&](int64_t first, int64_t columns, const T* sums) {
        for (int64_t row = begin; row < end; ++row) {
          T* to = dx + row * width + first;
          for (int64_t i = 0; i < columns; ++i) {
            if (sums[i] > 0) to[i] += share * from[first + i];
          }
        }
      });
    });
  });
}

template <typename T>
void phrase_means(const T* x, const PhrasePlaces& places, int64_t width, T* y, ThreadPool& pool) {
  pool.run(places.texts, [&](int64_t text, int) {
    T* out = y + text * width;
    std::fill_n(out, width, T{0});
    const int64_t count = count_phrases(places, text);
    if (count == 0) return;
    each_phrase(places, text, [&](int64_t place, int64_t, int64_t) {
      for (int64_t i = 0; i < width; ++i) out[i] += x[place * width + i];
    });
    for (int64_t i = 0; i < width; ++i) out[i] /= static_cast<T>(count);
  });
}

template <typename T>
void phrase_means_backward(const T* dy, const PhrasePlaces& places, int64_t width, T* dx,
                           ThreadPool& pool) {
  pool.run(places.texts, [&](int64_t text, int) {
    std::fill(dx + places.phrases[text] * width, dx + places.phrases[text + 1] * width, T{0});
    const auto count = static_cast<T>(count_phrases(places, text));
    each_phrase(places, text, [&](int64_t place, int64_t, int64_t) {
      for (int64_t i = 0; i < width; ++i) dx[place * width + i] = dy[text * width + i] / count;
    });
  });
}

template void phrase_rows(const float*, const float*, const PhrasePlaces&, int64_t, float*,
                          ThreadPool&);
template void phrase_rows(const double*, const double*, const PhrasePlaces&, int64_t, double*,
                          ThreadPool&);
template void phrase_rows_backward(const float*, const float*, const PhrasePlaces&, int64_t, float*,
                                   float*, ThreadPool&);
template void phrase_rows_backward(const double*, const double*, const PhrasePlaces&, int64_t,
                                   double*, double*, ThreadPool&);
template void phrase_means(const float*, const PhrasePlaces&, int64_t, float*, ThreadPool&);
template void phrase_means(const double*, const PhrasePlaces&, int64_t, double*, ThreadPool&);
template void phrase_means_backward(const float*, const PhrasePlaces&, int64_t, float*,
                                    ThreadPool&);
template void phrase_means_backward(const double*, const PhrasePlaces&, int64_t, double*,
                                    ThreadPool&);

}  // namespace hone::kernels

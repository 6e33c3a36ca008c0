#include "kernels/cpu/span_rows.h"

#include <algorithm>

namespace hone::kernels {
namespace {

/// Calls body(cell, parts) for each cell of a text: `parts` are where its four parts lie in x.
template <typename T, typename Body>
void each_cell(const SpanPlaces& places, int64_t text, T* x, int64_t width, const Body& body) {
  const int64_t first = places.bounds[text];
  const int64_t words = places.bounds[text + 1] - first - 1;
  int64_t cell = places.cells[text];
  const auto part = [&](int32_t row, int64_t index) { return x + (row * 4 + index) * width; };
  for (int64_t i = first; i < first + words; ++i) {
    T* const begin_behind = part(places.behind[i], 0);
    T* const begin_before = part(places.before[i], 1);
    for (int64_t j = i + 2; j <= first + words; ++j, ++cell) {
      body(cell, begin_behind, begin_before, part(places.before[j], 2), part(places.behind[j], 3));
    }
  }
}

}  // namespace

template <typename T>
void span_rows(const T* x, const SpanPlaces& places, int64_t width, T* y, ThreadPool& pool) {
  pool.run(places.texts, [&](int64_t text, int) {
    each_cell(places, text, x, width,
              [&](int64_t cell, const T* a, const T* b, const T* c, const T* d) {
                T* row = y + cell * width;
                for (int64_t k = 0; k < width; ++k) row[k] = (a[k] + b[k]) + (c[k] + d[k]);
              });
  });
}

template <typename T>
void span_rows_backward(const T* dy, const SpanPlaces& places, int64_t width, T* dx,
                        ThreadPool& pool) {
  pool.run(places.texts, [&](int64_t text, int) {
    std::fill(dx + places.tokens[text] * 4 * width, dx + places.tokens[text + 1] * 4 * width, T{0});
    each_cell(places, text, dx, width, [&](int64_t cell, T* a, T* b, T* c, T* d) {
      const T* row = dy + cell * width;
      for (T* part : {a, b, c, d}) {
        for (int64_t k = 0; k < width; ++k) part[k] += row[k];
      }
    });
  });
}

template void span_rows(const float*, const SpanPlaces&, int64_t, float*, ThreadPool&);
template void span_rows(const double*, const SpanPlaces&, int64_t, double*, ThreadPool&);
template void span_rows_backward(const float*, const SpanPlaces&, int64_t, float*, ThreadPool&);
template void span_rows_backward(const double*, const SpanPlaces&, int64_t, double*, ThreadPool&);

}  // namespace hone::kernels

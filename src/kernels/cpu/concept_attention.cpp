#include "kernels/cpu/concept_attention.h"

#include <algorithm>
#include <cmath>

namespace hone::kernels {
namespace {

/// Calls body(member, row) for the sentence itself (member 0) and each neighbour that was found;
/// `row` is of keys and values.
template <typename Row, typename Body>
void each_member(Row* own, Row* retrieved, const int32_t* found, const ConceptAttentionSizes& sizes,
                 int64_t text, const Body& body) {
  const int64_t stride = 2 * sizes.width;
  body(int64_t{0}, own + text * stride);
  for (int64_t i = 0; i < sizes.neighbours; ++i) {
    const int64_t place = text * sizes.neighbours + i;
    if (found[place] >= 0) body(i + 1, retrieved + place * stride);
  }
}

template <typename T>
T dot(const T* a, const T* b, int64_t count) {
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename T>
T score_scale(const ConceptAttentionSizes& sizes) {
  return T{1} / std::sqrt(static_cast<T>(sizes.width / sizes.heads));
}

}  // namespace

template <typename T>
void concept_attention(const ConceptAttentionInputs<T>& in, const ConceptAttentionSizes& sizes,
                       T* y, T* shares, ThreadPool& pool) {
  const int64_t size = sizes.width / sizes.heads, members = sizes.neighbours + 1;
  const T scale = score_scale<T>(sizes);
  pool.run(sizes.texts, [&](int64_t text, int) {
    T* const all = shares + text * sizes.heads * members;
    std::fill_n(all, sizes.heads * members, T{0});
    std::fill_n(y + text * sizes.width, sizes.width, T{0});
    const auto each = [&](const auto& body) {
      each_member(in.own, in.retrieved, in.found, sizes, text, body);
    };
    for (int64_t head = 0; head < sizes.heads; ++head) {
      const T* query = in.query + text * sizes.width + head * size;
      T* const own = all + head * members;
      T* const out = y + text * sizes.width + head * size;
      T most = 0, sum = 0;
      each([&](int64_t member, const T* row) {
        own[member] = scale * dot(query, row + head * size, size);
        most = member == 0 ? own[member] : std::max(most, own[member]);
      });
      each([&](int64_t member, const T*) { sum += own[member] = std::exp(own[member] - most); });
      each([&](int64_t member, const T* row) {
        own[member] /= sum;
        const T* value = row + sizes.width + head * size;
        for (int64_t i = 0; i < size; ++i) out[i] += own[member] * value[i];
      });
    }
  });
}

template <typename T>
void concept_attention_backward(const T* dy, const T* shares, const ConceptAttentionInputs<T>& in,
                                const ConceptAttentionSizes& sizes, T* dquery, T* down,
                                T* dretrieved, ThreadPool& pool) {
  const int64_t size = sizes.width / sizes.heads, members = sizes.neighbours + 1;
  const int64_t stride = 2 * sizes.width;
  const T scale = score_scale<T>(sizes);
  pool.run(sizes.texts, [&](int64_t text, int) {
    std::fill_n(dquery + text * sizes.width, sizes.width, T{0});
    std::fill_n(down + text * stride, stride, T{0});
    std::fill_n(dretrieved + text * sizes.neighbours * stride, sizes.neighbours * stride, T{0});
    const auto gradient_of = [&](int64_t member) {
      return member == 0 ? down + text * stride
                         : dretrieved + (text * sizes.neighbours + member - 1) * stride;
    };
    for (int64_t head = 0; head < sizes.heads; ++head) {
      const int64_t at = text * sizes.width + head * size;
      const T* const own = shares + (text * sizes.heads + head) * members;
      T mean = 0;  // mean of the members' gradients, by their shares
      const auto each = [&](const auto& body) {
        each_member(in.own, in.retrieved, in.found, sizes, text, body);
      };
      each([&](int64_t member, const T* row) {
        const T* value = row + sizes.width + head * size;
        mean += own[member] * dot(dy + at, value, size);
      });
      each([&](int64_t member, const T* row) {
        const T* key = row + head * size;
        const T* value = key + sizes.width;
        const T dscore = scale * own[member] * (dot(dy + at, value, size) - mean);
        T* const dkey = gradient_of(member) + head * size;
        T* const dvalue = dkey + sizes.width;
        for (int64_t i = 0; i < size; ++i) {
          dquery[at + i] += dscore * key[i];
          dkey[i] = dscore * in.query[at + i];
          dvalue[i] = own[member] * dy[at + i];
        }
      });
    }
  });
}

void concept_contexts(const float* retrieved, const float* shares, const int32_t* found,
                      const ConceptAttentionSizes& sizes, float* y, ThreadPool& pool) {
  const int64_t size = sizes.width / sizes.heads, members = sizes.neighbours + 1;
  pool.run(sizes.texts * sizes.neighbours, [&](int64_t place, int) {
    const int64_t text = place / sizes.neighbours, member = place % sizes.neighbours + 1;
    const float* value = retrieved + (2 * place + 1) * sizes.width;
    float* out = y + place * sizes.width;
    for (int64_t i = 0; i < sizes.width; ++i) {
      const float share = shares[(text * sizes.heads + i / size) * members + member];
      out[i] = found[place] < 0 ? 0.0f : share * value[i];
    }
  });
}

template void concept_attention(const ConceptAttentionInputs<float>&, const ConceptAttentionSizes&,
                                float*, float*, ThreadPool&);
template void concept_attention_backward(const float*, const float*,
                                         const ConceptAttentionInputs<float>&,
                                         const ConceptAttentionSizes&, float*, float*, float*,
                                         ThreadPool&);
template void concept_attention(const ConceptAttentionInputs<double>&, const ConceptAttentionSizes&,
                                double*, double*, ThreadPool&);
template void concept_attention_backward(const double*, const double*,
                                         const ConceptAttentionInputs<double>&,
                                         const ConceptAttentionSizes&, double*, double*, double*,
                                         ThreadPool&);

}  // namespace hone::kernels

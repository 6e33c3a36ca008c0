#include "kernels/cuda/phrases.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

// A block has a text, or behind the last one the rows that are no text's; a thread has a column and
// goes through the phrases in their order.
constexpr int kThreads = 128;

dim3 blocks_of(const Phrases& at) {
  return dim3(static_cast<unsigned>(at.texts + 1),
              static_cast<unsigned>(ceil_div(at.width, kThreads)));
}

__device__ __forceinline__ int64_t own_column() {
  return int64_t{blockIdx.y} * kThreads + threadIdx.x;
}

__device__ __forceinline__ void clear_rows(float* x, int64_t begin, int64_t end, int64_t width,
                                           int64_t column) {
  for (int64_t row = begin; row < end; ++row) x[row * width + column] = 0.0f;
}

__device__ __forceinline__ float sum_rows(const float* x, int begin, int end, int64_t width,
                                          int64_t column) {
  float sum = 0.0f;
  for (int64_t row = begin; row < end; ++row) sum += x[row * width + column];
  return sum;
}

/// Calls body(place, begin, end) for each of a text's phrases.
template <typename Body>
__device__ __forceinline__ void each_phrase(const Phrases& at, int64_t text, const Body& body) {
  for (int64_t place = at.phrases[text]; place < at.phrases[text + 1]; ++place) {
    const int begin = at.spans[2 * place], end = at.spans[2 * place + 1];
    if (begin < end) body(place, begin, end);
  }
}

__global__ void phrase_rows_kernel(Phrases at, const float* x, const float* u, float* y) {
  const int64_t text = blockIdx.x, column = own_column();
  if (column >= at.width) return;
  if (text == at.texts) return clear_rows(y, at.phrases[text], at.places, at.width, column);
  clear_rows(y, at.phrases[text], at.phrases[text + 1], at.width, column);
  const float sentence = u[text * at.width + column];
  each_phrase(at, text, [&](int64_t place, int begin, int end) {
    const float mean = sum_rows(x, begin, end, at.width, column) / static_cast<float>(end - begin);
    y[place * at.width + column] = fmaxf(0.0f, mean) - sentence;
  });
}

__global__ void phrase_rows_backward_kernel(Phrases at, const float* dy, const float* x, float* dx,
                                            float* du) {
  const int64_t text = blockIdx.x, column = own_column();
  if (column >= at.width) return;
  const int64_t end_of_text = text < at.texts ? at.offsets[text + 1] : at.tokens;
  if (dx) clear_rows(dx, at.offsets[text], end_of_text, at.width, column);
  if (text == at.texts) return;
  float sentence = 0.0f;
  each_phrase(at, text, [&](int64_t place, int begin, int end) {
    const float slope = dy[place * at.width + column];
    sentence -= slope;
    if (!dx || !(sum_rows(x, begin, end, at.width, column) > 0.0f)) return;
    const float share = 1.0f / static_cast<float>(end - begin) * slope;
    for (int64_t row = begin; row < end; ++row) dx[row * at.width + column] += share;
  });
  if (du) du[text * at.width + column] = sentence;
}

__device__ __forceinline__ int count_phrases(const Phrases& at, int64_t text) {
  int count = 0;
  each_phrase(at, text, [&](int64_t, int, int) { ++count; });
  return count;
}

__global__ void phrase_means_kernel(Phrases at, const float* x, float* y) {
  const int64_t text = blockIdx.x, column = own_column();
  if (column >= at.width || text == at.texts) return;
  float sum = 0.0f;
  int count = 0;
  each_phrase(at, text, [&](int64_t place, int, int) {
    sum += x[place * at.width + column];
    ++count;
  });
  y[text * at.width + column] = count > 0 ? sum / static_cast<float>(count) : 0.0f;
}

__global__ void phrase_means_backward_kernel(Phrases at, const float* dy, float* dx) {
  const int64_t text = blockIdx.x, column = own_column();
  if (column >= at.width) return;
  if (text == at.texts) return clear_rows(dx, at.phrases[text], at.places, at.width, column);
  clear_rows(dx, at.phrases[text], at.phrases[text + 1], at.width, column);
  const auto count = static_cast<float>(count_phrases(at, text));
  each_phrase(at, text, [&](int64_t place, int, int) {
    dx[place * at.width + column] = dy[text * at.width + column] / count;
  });
}

}  // namespace

Status phrase_rows(const Phrases& at, const float* x, const float* u, float* y, Stream stream) {
  phrase_rows_kernel<<<blocks_of(at), kThreads, 0, stream_of(stream)>>>(at, x, u, y);
  return launched();
}

Status phrase_rows_backward(const Phrases& at, const float* dy, const float* x, float* dx,
                            float* du, Stream stream) {
  phrase_rows_backward_kernel<<<blocks_of(at), kThreads, 0, stream_of(stream)>>>(at, dy, x, dx, du);
  return launched();
}

Status phrase_means(const Phrases& at, const float* x, float* y, Stream stream) {
  phrase_means_kernel<<<blocks_of(at), kThreads, 0, stream_of(stream)>>>(at, x, y);
  return launched();
}

Status phrase_means_backward(const Phrases& at, const float* dy, float* dx, Stream stream) {
  phrase_means_backward_kernel<<<blocks_of(at), kThreads, 0, stream_of(stream)>>>(at, dy, dx);
  return launched();
}

}  // namespace hone::kernels::cuda

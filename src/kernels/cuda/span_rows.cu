#include "kernels/cuda/span_rows.h"

#include "kernels/cuda/chart.cuh"
#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kThreads = 128;

/// A bound between words, and the text that it is in.
struct Bound {
  __device__ Bound(const Spans& spans, int64_t number)
      : text(text_at(spans.bound_offsets, spans.texts, number)) {
    if (text == spans.texts) return;
    first = spans.bound_offsets[text];
    words = spans.bound_offsets[text + 1] - first - 1;
    place = static_cast<int>(number) - first;
    cells = spans.cell_offsets[text];
  }
  __device__ int64_t cell(int i, int j) const { return cells + chart_cell(words, i, j); }

  int64_t text;
  int first = 0;  ///< the text's first bound
  int words = 0;  ///< the text's; 0 where there is none
  int place = 0;  ///< among the text's bounds
  int cells = 0;  ///< the text's first cell
};

/// A block has the spans that begin at a bound.
__global__ void span_rows_kernel(Spans spans, const float* x, int width, float* y) {
  const Bound bound(spans, blockIdx.x);
  const int i = bound.place;
  if (i + 2 > bound.words) return;
  const auto part = [&](int row, int index) { return x + (int64_t{row} * 4 + index) * width; };
  const float* a = part(spans.behind[bound.first + i], 0);
  const float* b = part(spans.before[bound.first + i], 1);
  for (int j = i + 2; j <= bound.words; ++j) {
    const float* c = part(spans.before[bound.first + j], 2);
    const float* d = part(spans.behind[bound.first + j], 3);
    float* row = y + bound.cell(i, j) * width;
    for (int k = static_cast<int>(threadIdx.x); k < width; k += kThreads) {
      row[k] = (a[k] + b[k]) + (c[k] + d[k]);
    }
  }
}

/// A block has one part of the rows beside a bound. Bounds that share a row stand one behind the
/// other, and the first of them adds up for all.
__global__ void span_rows_backward_kernel(Spans spans, const float* dy, int width, float* dx) {
  const Bound bound(spans, blockIdx.x);
  if (bound.words < 2) return;
  const int part = static_cast<int>(blockIdx.y);
  const int32_t* rows = (part == 0 || part == 3 ? spans.behind : spans.before) + bound.first;
  const int row = rows[bound.place];
  if (bound.place > 0 && rows[bound.place - 1] == row) return;
  for (int k = static_cast<int>(threadIdx.x); k < width; k += kThreads) {
    float sum = 0.0f;
    for (int at = bound.place; at <= bound.words && rows[at] == row; ++at) {
      if (part < 2) {
        for (int j = at + 2; j <= bound.words; ++j) sum += dy[bound.cell(at, j) * width + k];
      } else {
        for (int i = 0; i + 2 <= at; ++i) sum += dy[bound.cell(i, at) * width + k];
      }
    }
    dx[(int64_t{row} * 4 + part) * width + k] = sum;
  }
}

Status clear(float* data, int64_t count, Stream stream) {
  const cudaError_t error =
      cudaMemsetAsync(data, 0, static_cast<size_t>(count) * sizeof(float), stream_of(stream));
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

Status span_rows(const Spans& spans, const float* x, int64_t width, float* y, Stream stream) {
  if (spans.cells == 0) return nullptr;
  if (const Status status = clear(y, spans.cells * width, stream)) return status;
  span_rows_kernel<<<static_cast<unsigned>(spans.bounds), kThreads, 0, stream_of(stream)>>>(
      spans, x, static_cast<int>(width), y);
  return launched();
}

Status span_rows_backward(const Spans& spans, const float* dy, int64_t width, float* dx,
                          Stream stream) {
  if (spans.tokens == 0) return nullptr;
  if (const Status status = clear(dx, spans.tokens * 4 * width, stream)) return status;
  if (spans.bounds == 0) return nullptr;
  const dim3 grid(static_cast<unsigned>(spans.bounds), 4);
  span_rows_backward_kernel<<<grid, kThreads, 0, stream_of(stream)>>>(spans, dy,
                                                                      static_cast<int>(width), dx);
  return launched();
}

}  // namespace hone::kernels::cuda

#include "kernels/cuda/rows.h"

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename T>
__global__ void add_kernel(const T* a, const T* b, int64_t count, T* out) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    const Chunk x = load_part<kAligned>(a + at, there);
    Chunk y = load_part<kAligned>(b + at, there);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) y.value[j] += x.value[j];
    store_part<kAligned>(out + at, there, y);
  });
}

template <bool kAligned, typename T>
__global__ void scale_kernel(const T* x, int64_t count, float factor, T* y) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    Chunk c = load_part<kAligned>(x + at, there);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) c.value[j] *= factor;
    store_part<kAligned>(y + at, there, c);
  });
}

/// A block a sequence, a thread a column at a time, rows in their order.
__global__ void pool_kernel(Pooling pooling, const float* x, const int32_t* offsets, int width,
                            float* y) {
  const int64_t begin = offsets[blockIdx.x], end = offsets[blockIdx.x + 1];
  const auto count = static_cast<float>(end - begin);
  for (int column = static_cast<int>(threadIdx.x); column < width;
       column += static_cast<int>(blockDim.x)) {
    float value = begin < end ? x[begin * width + column] : 0.0f;
    if (pooling != Pooling::first) {
      for (int64_t row = begin + 1; row < end; ++row) {
        const float next = x[row * width + column];
        value = pooling == Pooling::mean ? value + next : fmaxf(value, next);
      }
      if (pooling == Pooling::mean && begin < end) value /= count;
    }
    y[int64_t{blockIdx.x} * width + column] = value;
  }
}

/// A warp a row.
__global__ void normalize_kernel(const float* x, int width, float* y) {
  const float* row = x + int64_t{blockIdx.x} * width;
  float sum = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += 32) sum += row[i] * row[i];
  const float scale = 1.0f / fmaxf(sqrtf(warp_sum(sum)), 1e-12f);
  for (int i = static_cast<int>(threadIdx.x); i < width; i += 32) {
    y[int64_t{blockIdx.x} * width + i] = row[i] * scale;
  }
}

}  // namespace

Status pool_sequences(Pooling pooling, const float* x, const int32_t* offsets, int64_t sequences,
                      int64_t width, float* y, Stream stream) {
  if (sequences == 0 || width == 0) return nullptr;
  pool_kernel<<<static_cast<unsigned>(sequences), 256, 0, stream_of(stream)>>>(
      pooling, x, offsets, static_cast<int>(width), y);
  return launched();
}

Status l2_normalize(const float* x, int64_t rows, int64_t width, float* y, Stream stream) {
  if (rows == 0 || width == 0) return nullptr;
  normalize_kernel<<<static_cast<unsigned>(rows), 32, 0, stream_of(stream)>>>(
      x, static_cast<int>(width), y);
  return launched();
}

Status add(DType dtype, const void* a, const void* b, int64_t count, void* out, Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = aligned16(a) && aligned16(b) && aligned16(out);
    const auto kernel = aligned ? add_kernel<true, T> : add_kernel<false, T>;
    kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
        static_cast<const T*>(a), static_cast<const T*>(b), count, static_cast<T*>(out));
    return launched();
  });
}

Status scale(DType dtype, const void* x, int64_t count, float factor, void* y, Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto kernel =
        aligned16(x) && aligned16(y) ? scale_kernel<true, T> : scale_kernel<false, T>;
    kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
        static_cast<const T*>(x), count, factor, static_cast<T*>(y));
    return launched();
  });
}

}  // namespace hone::kernels::cuda

#include "kernels/cuda/elementwise.h"

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename From, typename To>
__global__ void convert_kernel(const From* x, int64_t count, To* y) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    store_part<kAligned>(y + at, there, load_part<kAligned>(x + at, there));
  });
}

/// A thread takes a chunk of a row.
template <bool kAligned, typename T>
__global__ void dropout_kernel(Dropout dropout, const T* x, int64_t rows, int width, T* y) {
  const Dropper drop(dropout);
  const int64_t chunks = (width + kChunk - 1) / kChunk;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * chunks; i += step) {
    const int64_t row = i / chunks;
    const int at = static_cast<int>(i % chunks) * kChunk;
    Chunk c = load_columns<kAligned>(x + row * width, at, width);
    if (drop.active) drop.apply(row, at, c);
    store_columns<kAligned>(y + row * width, at, width, c);
  }
}

/// Words of a row, of the widest type that rows are whole numbers of.
template <typename Word>
__global__ void gather_kernel(const Word* x, int64_t stride, const int32_t* index, int words,
                              Word* out) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int32_t from = index[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) {
    out[int64_t{blockIdx.x} * words + i] = from < 0 ? Word{} : x[from * stride + i];
  }
}

template <bool kAligned, typename T>
__global__ void scatter_kernel(const T* dy, const int32_t* index, int width, bool set, T* dx) {
  const int64_t to = index[blockIdx.x];
  if (to < 0) return;
  for (int at = static_cast<int>(threadIdx.x) * kChunk; at < width;
       at += static_cast<int>(blockDim.x) * kChunk) {
    Chunk c = load_columns<kAligned>(dy + int64_t{blockIdx.x} * width, at, width);
    if (!set) {
      const Chunk before = load_columns<kAligned>(dx + to * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) c.value[j] += before.value[j];
    }
    store_columns<kAligned>(dx + to * width, at, width, c);
  }
}

template <typename Word>
Status launch_gather(const void* x, int64_t stride_bytes, const int32_t* index, int64_t count,
                     int64_t row_bytes, void* out, Stream stream) {
  constexpr int64_t size = sizeof(Word);
  return launch_early(gather_kernel<Word>, {dim3(static_cast<unsigned>(count)), 128}, stream,
                      static_cast<const Word*>(x), stride_bytes / size, index,
                      static_cast<int>(row_bytes / size), static_cast<Word*>(out));
}

}  // namespace

Status convert(DType from, const void* x, DType to, void* y, int64_t count, Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(from, [&](auto* from_type) {
    using From = std::remove_pointer_t<decltype(from_type)>;
    return by_dtype(to, [&](auto* to_type) {
      using To = std::remove_pointer_t<decltype(to_type)>;
      const auto kernel = aligned16(x) && aligned16(y) ? convert_kernel<true, From, To>
                                                       : convert_kernel<false, From, To>;
      kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
          static_cast<const From*>(x), count, static_cast<To*>(y));
      return launched();
    });
  });
}

Status apply_dropout(const Dropout& dropout, DType dtype, const void* x, int64_t rows,
                     int64_t width, void* y, Stream stream) {
  if (rows == 0 || width == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = width % kChunk == 0 && aligned16(x) && aligned16(y);
    const auto kernel = aligned ? dropout_kernel<true, T> : dropout_kernel<false, T>;
    const int64_t chunks = rows * ceil_div(width, kChunk);
    kernel<<<stream_blocks(chunks * kChunk), kStreamThreads, 0, stream_of(stream)>>>(
        dropout, static_cast<const T*>(x), rows, static_cast<int>(width), static_cast<T*>(y));
    return launched();
  });
}

Status gather_rows(DType dtype, const void* x, int64_t stride, const int32_t* index, int64_t count,
                   int64_t width, void* out, Stream stream) {
  if (count == 0 || width == 0) return nullptr;
  const int64_t size = dtype == DType::f32 ? 4 : 2;
  const int64_t row = width * size, apart = stride * size;
  if (row % 16 == 0 && apart % 16 == 0 && aligned16(x) && aligned16(out)) {
    return launch_gather<uint4>(x, apart, index, count, row, out, stream);
  }
  return size == 4 ? launch_gather<uint32_t>(x, apart, index, count, row, out, stream)
                   : launch_gather<uint16_t>(x, apart, index, count, row, out, stream);
}

Status scatter_rows(DType dtype, const void* dy, const int32_t* index, int64_t count, int64_t rows,
                    int64_t width, bool set, void* dx, Stream stream) {
  if (rows == 0 || width == 0) return nullptr;
  const int64_t size = dtype == DType::f32 ? 4 : 2;
  if (set) {
    const cudaError_t error =
        cudaMemsetAsync(dx, 0, static_cast<size_t>(rows * width * size), stream_of(stream));
    if (error != cudaSuccess) return cudaGetErrorString(error);
  }
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = width % kChunk == 0 && aligned16(dy) && aligned16(dx);
    const auto kernel = aligned ? scatter_kernel<true, T> : scatter_kernel<false, T>;
    kernel<<<static_cast<unsigned>(count), 128, 0, stream_of(stream)>>>(
        static_cast<const T*>(dy), index, static_cast<int>(width), set, static_cast<T*>(dx));
    return launched();
  });
}

}  // namespace hone::kernels::cuda

#include "kernels/cuda/gather.h"

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/early_launch.cuh"

namespace hone::kernels::cuda {
namespace {

/// A block copies a row, in words of the widest type that rows are whole numbers of.
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

template <typename Word>
Status launch_gather(const void* x, int64_t stride_bytes, const int32_t* index, int64_t count,
                     int64_t row_bytes, void* out, Stream stream) {
  constexpr int64_t size = sizeof(Word);
  return launch_early(gather_kernel<Word>, {dim3(static_cast<unsigned>(count)), 128}, stream,
                      static_cast<const Word*>(x), stride_bytes / size, index,
                      static_cast<int>(row_bytes / size), static_cast<Word*>(out));
}

/// A block takes a row of dy.
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

}  // namespace

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

#include "kernels/cuda/fp8.h"

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/cublaslt.cuh"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/fp8.cuh"

namespace hone::kernels::cuda {
namespace {

template <typename Layout, Activation kActivation, typename T>
__global__ void __launch_bounds__(kNormWarps * 32)
    quantize_kernel(const T* x, int64_t rows, int width, uint8_t* bytes, float* scales) {
  const int64_t own_row = int64_t{blockIdx.x} * Layout::kRows + Layout::row();
  const bool there = own_row < rows;
  const int64_t row = there ? own_row : rows - 1;
  wait_for_kernel_before();
  let_next_kernel_start();
  Chunk s[Layout::kChunks];
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    s[i] = load_chunk(x + row * width + Layout::readable(Layout::column(i), width));
  }
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      s[i].value[j] = activation_of<kActivation, T>(s[i].value[j]).value;
    }
  }
  store_fp8<Layout>(s, row, width, there, bytes, scales);
}

}  // namespace

Status quantize_fp8(const QuantizeFp8& args, Stream stream) {
  if (args.rows == 0) return nullptr;
  if (args.width % kFp8Unit != 0 || args.width > kMaxFp8Width || !aligned16(args.x) ||
      !aligned16(args.bytes)) {
    return "rows that fp8 does not take";
  }
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return by_activation(args.activation, [&](auto which) {
      const auto run = [&](auto layout) {
        using Layout = decltype(layout);
        const auto blocks = static_cast<unsigned>(ceil_div(args.rows, Layout::kRows));
        return launch_early(quantize_kernel<Layout, which.value, T>,
                            {dim3(blocks), kNormWarps * 32}, stream, static_cast<const T*>(args.x),
                            args.rows, static_cast<int>(args.width),
                            static_cast<uint8_t*>(args.bytes), args.scales);
      };
      if (args.width > kMaxNormWidth) return run(NormLayout<8, kNormWarps, true>());
      return by_aligned_layout(args.width, run);
    });
  });
}

Status fp8_products() {
#if CUBLAS_VERSION < 120900
  return "this build's cuBLASLt is older than 12.9";
#else
  if (cublaslt().missing) return cublaslt().missing;
  if (cublaslt().version() < 120900) return "cuBLASLt is older than 12.9";
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return major == 9 && minor == 0 ? nullptr : "the device has not compute capability 9.0";
#endif
}

}  // namespace hone::kernels::cuda

#include "kernels/cuda/convolution.cuh"

namespace hone::kernels::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeIm2col);

/// Gives a function of the driver, which the plugin is not linked with.
Encode encode_function() {
  static const Encode found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &function,
                                                               12000, cudaEnableDefault, &result);
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return Encode{nullptr};
    return reinterpret_cast<Encode>(function);
  }();
  return found;
}

}  // namespace

Status describe_patches(CUtensorMap* map, DType dtype, const void* images, int64_t count,
                        const Window& w, int rows) {
  const auto type =
      dtype == DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const auto size = [](int64_t value) { return static_cast<cuuint64_t>(value); };
  const cuuint64_t sizes[] = {size(w.channels), size(w.width), size(w.height), size(count)};
  const int64_t pixel = 2 * w.channels;
  const cuuint64_t strides[] = {size(pixel), size(pixel * w.width),
                                size(pixel * w.width * w.height)};
  const int lower = static_cast<int>(-w.padding);
  const int upper = static_cast<int>(w.padding - (w.kernel - 1));
  const int lowers[] = {lower, lower}, uppers[] = {upper, upper};
  const auto step = static_cast<cuuint32_t>(w.stride);
  const cuuint32_t steps[] = {1, step, step, 1};
  const CUresult result =
      encode_function()(map, type, 4, const_cast<void*>(images), sizes, strides, lowers, uppers, 64,
                        static_cast<cuuint32_t>(rows), steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? nullptr : "the driver refuses the description of images";
}

bool patches_fit(const Convolution& args, const Window& w, int64_t columns) {
  if (w.channels % kTileDepth != 0) return false;
  constexpr int64_t kMost = int64_t{1} << 30;
  if (args.images * w.out_pixels() > kMost || w.covered() > kMost) return false;
  if (w.padding < 0 || w.kernel + w.padding > 127 || w.stride > 8) return false;
  return encode_function() && gelu_product_fits(args.dtype, 1, columns, w.channels, columns);
}

}  // namespace hone::kernels::cuda

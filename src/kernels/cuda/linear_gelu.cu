#include "kernels/cuda/linear_gelu.cuh"

namespace hone::kernels::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// Gives a function of the driver, which the plugin is not linked with.
Encode encode_function() {
  static const Encode found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                               12000, cudaEnableDefault, &result);
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return Encode{nullptr};
    return reinterpret_cast<Encode>(function);
  }();
  return found;
}

int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, attribute, device);
  return value;
}

}  // namespace

Status describe_boxes(CUtensorMap* map, DType dtype, const void* data, int64_t rows,
                      int64_t columns, int64_t stride, int box_rows) {
  const auto type =
      dtype == DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(stride) * 2};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  const CUresult result =
      encode_function()(map, type, 2, const_cast<void*>(data), sizes, strides, box, steps,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? nullptr : "the driver refuses the description of a matrix";
}

bool gelu_product_fits(DType dtype, int64_t m, int64_t n, int64_t k, int64_t stride) {
  constexpr int64_t kMost = int64_t{1} << 17;  // in ints, and partial sums in row_sums_workspace()
  return (dtype == DType::bf16 || dtype == DType::f16) && n > 0 && k > 0 && n % 8 == 0 &&
         k % 8 == 0 && stride % 8 == 0 && m <= kMost && n <= kMost && k <= kMost &&
         device_attribute(cudaDevAttrComputeCapabilityMajor) == 9 && encode_function();
}

}  // namespace hone::kernels::cuda

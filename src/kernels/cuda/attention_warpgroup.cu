// Attention on the tensor cores by wgmma.

#include "kernels/cuda/attention_flash.cuh"
#include "kernels/cuda/warpgroup.cuh"

namespace hone::kernels::cuda {

Status attention_warpgroup(const AttentionShape& shape, const AttentionForward& arrays,
                           Stream stream) {
  return by_flash_heads(shape, [&](auto* type, auto depth) {
    using T = std::remove_pointer_t<decltype(type)>;
    // Blocks of one warpgroup: more share tiles, but wait for each other.
    constexpr int kDepth = depth.value;
    if (arrays.dropout.p > 0.0f) {
      return launch_flash < GroupProducts<T>, T, kDepth, 4, kDepth <= 64 ? 3 : 2,
             true > (shape, arrays, stream);
    }
    return launch_flash < GroupProducts<T>, T, kDepth, 4, kDepth <= 64 ? 4 : 2,
           false > (shape, arrays, stream);
  });
}

}  // namespace hone::kernels::cuda

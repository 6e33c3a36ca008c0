// Attention on the tensor cores by mma.sync.

#include "kernels/cuda/attention_flash.cuh"

namespace hone::kernels::cuda {

Status attention_flash(const AttentionShape& shape, const AttentionForward& arrays, Stream stream) {
  return by_flash_heads(shape, [&](auto* type, auto depth) {
    using T = std::remove_pointer_t<decltype(type)>;
    constexpr int kDepth = depth.value, kWarps = 4, kBlocks = kDepth <= 64 ? 4 : 2;
    if (arrays.dropout.p > 0.0f) {
      return launch_flash<WarpProducts<T>, T, kDepth, kWarps, kBlocks, true>(shape, arrays, stream);
    }
    return launch_flash<WarpProducts<T>, T, kDepth, kWarps, kBlocks, false>(shape, arrays, stream);
  });
}

}  // namespace hone::kernels::cuda

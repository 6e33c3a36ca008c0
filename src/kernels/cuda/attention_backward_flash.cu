// The backward pass on the tensor cores by mma.sync.

#include "kernels/cuda/attention_backward_flash.cuh"

namespace hone::kernels::cuda {

Status attention_backward_flash(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream) {
  auto* facts = static_cast<QueryFact*>(workspace);
  return by_flash_heads(shape, [&](auto* type, auto depth) {
    using T = std::remove_pointer_t<decltype(type)>;
    using Products = WarpProducts<T>;
    constexpr int kDepth = depth.value, kWarps = 4, kBlocks = kDepth <= 64 ? 3 : 2;
    const Status status = launch_backward<T, kDepth, kWarps>(
        query_gradient_kernel<Products, T, kDepth, kWarps, kBlocks, 32>, shape.longest_q, shape,
        arrays, facts, stream);
    if (status) return status;
    return launch_backward<T, kDepth, kWarps>(
        key_gradient_kernel<Products, T, kDepth, kWarps, kBlocks, 32>, shape.longest_k, shape,
        arrays, static_cast<const QueryFact*>(facts), stream);
  });
}

}  // namespace hone::kernels::cuda

// This file chooses which attention kernel runs.

#include <algorithm>

#include "kernels/cuda/attention.cuh"

namespace hone::kernels::cuda {
namespace {

Status check(const AttentionShape& shape) {
  if (shape.head_size < 1 || shape.head_size > 256) return "attention heads of more than 256";
  if (shape.sequences >= 65535 || shape.heads > 65535) return "too many sequences for attention";
  if (shape.longest_k >= 1 << 20) return "sequences too long for attention's dropout";
  return nullptr;
}

/// Says whether the device runs wgmma: capability 9.0, neither older nor newer ones.
bool warpgroups() {
  static const bool found = [] {
    int device = 0, major = 0, minor = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    return major == 9 && minor == 0;
  }();
  return found;
}

/// Says whether the kernel for few queries takes this and is the better choice: up to two warps for
/// each of a multiprocessor's four schedulers.
bool few_queries(const AttentionShape& shape, const AttentionForward& arrays) {
  const int64_t warps = shape.sequences * shape.heads * ceil_div(shape.longest_q, 16);
  return shape.longest_k <= kFewKeys && warps <= 132 * 8 && arrays.dropout.p == 0.0f &&
         !arrays.log_sums && !arrays.kept;
}

}  // namespace

Status attention(const AttentionShape& shape, const AttentionForward& arrays,
                 AttentionKernel kernel, Stream stream) {
  if (const Status status = check(shape)) return status;
  if (shape.q_rows == 0) return nullptr;
  const bool fits = !arrays.relative.distances &&
                    flash_heads(shape, {arrays.q, arrays.k, arrays.v, {arrays.out, 0}});
  if (kernel == AttentionKernel::plain || (kernel == AttentionKernel::automatic && !fits)) {
    return attention_plain(shape, arrays, stream);
  }
  if (!fits) return "heads that the tensor-core attention does not take";
  // Both take the same time below this length, or mma.sync a little less.
  const bool long_enough = shape.longest_k > 64;
  if (kernel == AttentionKernel::warpgroup ||
      (kernel == AttentionKernel::automatic && long_enough && warpgroups())) {
    return attention_warpgroup(shape, arrays, stream);
  }
  const bool few = few_queries(shape, arrays);
  if (kernel == AttentionKernel::few && !few) return "attention that is not one of few queries";
  if (kernel == AttentionKernel::few || (kernel == AttentionKernel::automatic && few)) {
    return attention_few(shape, arrays, stream);
  }
  return attention_flash(shape, arrays, stream);
}

size_t attention_kept_words(const AttentionShape& shape) {
  if (!flash_heads(shape, {})) return 0;
  return static_cast<size_t>(shape.q_rows * shape.heads * kept_words(shape));
}

size_t attention_backward_workspace(const AttentionShape& shape) {
  return static_cast<size_t>(shape.q_rows * shape.heads) * 2 * sizeof(float);
}

Status attention_backward(const AttentionShape& shape, const AttentionBackward& arrays,
                          void* workspace, AttentionKernel kernel, Stream stream) {
  if (const Status status = check(shape)) return status;
  if (shape.q_rows == 0 && shape.k_rows == 0) return nullptr;
  const auto rows = [](const HeadGradients& g) { return HeadRows{g.data, g.stride}; };
  const bool fits = !arrays.relative.distances && flash_heads(shape, {arrays.q,
                                                                      arrays.k,
                                                                      arrays.v,
                                                                      {arrays.out, 0},
                                                                      {arrays.dout, 0},
                                                                      rows(arrays.dq),
                                                                      rows(arrays.dk),
                                                                      rows(arrays.dv)});
  if (kernel == AttentionKernel::plain || (kernel == AttentionKernel::automatic && !fits)) {
    return attention_backward_plain(shape, arrays, workspace, stream);
  }
  if (!fits) return "heads that the tensor-core attention does not take";
  if (arrays.dropout.p > 0.0f && !arrays.kept) return "attention's gradient without what was kept";
  const bool whole = std::max(shape.longest_q, shape.longest_k) <= kWholeSequence;
  if (kernel == AttentionKernel::whole_sequence ||
      (kernel == AttentionKernel::automatic && whole)) {
    // Both take the same time for sentences of a few words.
    const bool group = kernel == AttentionKernel::automatic && warpgroups() &&
                       shape.head_size <= 64 && shape.longest_k > 32;
    return group ? attention_backward_whole_warpgroup(shape, arrays, stream)
                 : attention_backward_whole(shape, arrays, stream);
  }
  if (kernel == AttentionKernel::warpgroup ||
      (kernel == AttentionKernel::automatic && warpgroups())) {
    return attention_backward_warpgroup(shape, arrays, workspace, stream);
  }
  return attention_backward_flash(shape, arrays, workspace, stream);
}

}  // namespace hone::kernels::cuda

#include "kernels/cuda/concept_attention.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kWarp = 32;

/// A warp's part of the work: one head of one text, whose columns the lanes share.
struct Head {
  __device__ Head(const ConceptAttention& args)
      : a(args),
        text(blockIdx.x),
        lane(static_cast<int>(threadIdx.x)),
        size(static_cast<int>(a.width / a.heads)),
        at(text * a.width + int64_t{blockIdx.y} * size),
        shares((text * a.heads + blockIdx.y) * (a.neighbours + 1)),
        scale(1.0f / sqrtf(static_cast<float>(size))) {}

  /// Says whether there is a member: the sentence itself is number 0.
  __device__ bool has(int64_t member) const {
    return member == 0 || a.found[text * a.neighbours + member - 1] >= 0;
  }
  /// Gives where a member's keys begin, in one array of those that are like `own` and `retrieved`;
  /// its values begin a.width behind.
  template <typename T>
  __device__ T* keys(T* own, T* retrieved, int64_t member) const {
    T* row = member == 0 ? own + text * 2 * a.width
                         : retrieved + (text * a.neighbours + member - 1) * 2 * a.width;
    return row + int64_t{blockIdx.y} * size;
  }
  __device__ float dot(const float* x, const float* y) const {
    float sum = 0.0f;
    for (int i = lane; i < size; i += kWarp) sum += x[i] * y[i];
    return warp_sum(sum);
  }

  const ConceptAttention& a;
  int64_t text;
  int lane;
  int size;
  int64_t at;      ///< where its columns begin in query and y
  int64_t shares;  ///< where its shares begin
  float scale;
};

__global__ void concept_attention_kernel(ConceptAttention args, float* y, float* all_shares) {
  const Head head(args);
  const int64_t members = args.neighbours + 1;
  float* const shares = all_shares + head.shares;
  float most = -INFINITY;
  for (int64_t m = 0; m < members; ++m) {
    float score = -INFINITY;
    if (head.has(m)) {
      score = head.scale * head.dot(args.query + head.at, head.keys(args.own, args.retrieved, m));
    }
    most = fmaxf(most, score);
    if (head.lane == 0) shares[m] = score;
  }
  __syncwarp();
  float sum = 0.0f;
  for (int64_t m = 0; m < members; ++m) sum += expf(shares[m] - most);
  __syncwarp();
  for (int64_t m = head.lane; m < members; m += kWarp) shares[m] = expf(shares[m] - most) / sum;
  __syncwarp();
  for (int i = head.lane; i < head.size; i += kWarp) {
    float out = 0.0f;
    for (int64_t m = 0; m < members; ++m) {
      if (head.has(m)) out += shares[m] * head.keys(args.own, args.retrieved, m)[args.width + i];
    }
    y[head.at + i] = out;
  }
}

__global__ void concept_attention_backward_kernel(ConceptAttention args,
                                                  ConceptAttentionBackward g) {
  const Head head(args);
  const int64_t members = args.neighbours + 1;
  const float* const shares = g.shares + head.shares;
  const float* const dy = g.dy + head.at;
  float mean = 0.0f;  // mean of the members' gradients, by their shares
  for (int64_t m = 0; m < members; ++m) {
    if (!head.has(m)) continue;
    mean += shares[m] * head.dot(dy, head.keys(args.own, args.retrieved, m) + args.width);
  }
  for (int i = head.lane; i < head.size; i += kWarp) g.dquery[head.at + i] = 0.0f;
  for (int64_t m = 0; m < members; ++m) {
    float* const dkey = head.keys(g.down, g.dretrieved, m);
    const bool there = head.has(m);
    const float* const key = head.keys(args.own, args.retrieved, m);
    const float share = there ? shares[m] : 0.0f;
    const float dscore =
        there ? head.scale * share * (head.dot(dy, key + args.width) - mean) : 0.0f;
    for (int i = head.lane; i < head.size; i += kWarp) {
      if (there) g.dquery[head.at + i] += dscore * key[i];
      dkey[i] = there ? dscore * args.query[head.at + i] : 0.0f;
      dkey[args.width + i] = there ? share * dy[i] : 0.0f;
    }
  }
}

__global__ void concept_contexts_kernel(ConceptAttention a, const float* shares, float* y) {
  const int64_t place = blockIdx.x, text = place / a.neighbours, size = a.width / a.heads;
  const int64_t member = place - text * a.neighbours + 1;
  const bool there = a.found[place] >= 0;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
    const float share = shares[(text * a.heads + i / size) * (a.neighbours + 1) + member];
    y[place * a.width + i] = there ? share * a.retrieved[(2 * place + 1) * a.width + i] : 0.0f;
  }
}

dim3 heads_of(const ConceptAttention& args) {
  return dim3(static_cast<unsigned>(args.texts), static_cast<unsigned>(args.heads));
}

}  // namespace

Status concept_attention(const ConceptAttention& args, float* y, float* shares, Stream stream) {
  if (args.texts == 0) return nullptr;
  concept_attention_kernel<<<heads_of(args), kWarp, 0, stream_of(stream)>>>(args, y, shares);
  return launched();
}

Status concept_attention_backward(const ConceptAttention& args,
                                  const ConceptAttentionBackward& gradients, Stream stream) {
  if (args.texts == 0) return nullptr;
  concept_attention_backward_kernel<<<heads_of(args), kWarp, 0, stream_of(stream)>>>(args,
                                                                                     gradients);
  return launched();
}

Status concept_contexts(const ConceptAttention& args, const float* shares, float* y,
                        Stream stream) {
  if (args.texts == 0) return nullptr;
  concept_contexts_kernel<<<static_cast<unsigned>(args.texts * args.neighbours), 128, 0,
                            stream_of(stream)>>>(args, shares, y);
  return launched();
}

}  // namespace hone::kernels::cuda

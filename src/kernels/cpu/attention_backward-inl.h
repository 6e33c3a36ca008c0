// The parts of attention's backward pass on one block of queries and one tile of keys.
#if defined(HONE_KERNELS_CPU_ATTENTION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ATTENTION_BACKWARD_INL_H_
#undef HONE_KERNELS_CPU_ATTENTION_BACKWARD_INL_H_
#else
#define HONE_KERNELS_CPU_ATTENTION_BACKWARD_INL_H_
#endif

#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/attention_backward_tile.h"
#include "kernels/cpu/attention_relative-inl.h"
#include "kernels/cpu/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// c [rows, columns] += a^T times panel [steps, kPanel], where a is [steps, rows], for the first
/// one or two vectors of columns.
template <int rows, int vectors>
void MultiplyTransposed(const float* a, int64_t a_stride, const float* panel, int64_t steps,
                        float* c, int64_t c_stride) {
  VF32 sums[rows][vectors];
  HWY_UNROLL(12)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < vectors; ++v) sums[r][v] = hn::LoadU(kF32, c + r * c_stride + v * kLanes);
  }
  for (int64_t i = 0; i < steps; ++i, panel += kPanel, a += a_stride) {
    VF32 b[vectors];
    HWY_UNROLL(2)
    for (int v = 0; v < vectors; ++v) b[v] = hn::LoadU(kF32, panel + v * kLanes);
    HWY_UNROLL(12)
    for (int r = 0; r < rows; ++r) {
      const VF32 x = hn::Set(kF32, a[r]);
      HWY_UNROLL(2)
      for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
  }
  HWY_UNROLL(12)
  for (int r = 0; r < rows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < vectors; ++v) hn::StoreU(sums[r][v], kF32, c + r * c_stride + v * kLanes);
  }
}

template <int vectors, int... rows>
HWY_INLINE PanelProduct* ChooseTransposed(int64_t count, std::integer_sequence<int, rows...>) {
  static constexpr PanelProduct* table[] = {&MultiplyTransposed<rows + 1, vectors>...};
  return table[count - 1];
}

/// Adds to Fp32Products what else the backward pass needs of its products.
struct Fp32Gradients : Fp32Products {
  /// Gives the product for 1 to kRows rows and at least `columns` columns of a panel.
  static PanelProduct* Transposed(int64_t rows, int64_t columns) {
    constexpr auto counts = std::make_integer_sequence<int, kRows>();
    return columns <= static_cast<int64_t>(kLanes) ? ChooseTransposed<1>(rows, counts)
                                                   : ChooseTransposed<2>(rows, counts);
  }
  /// Lays out rows begin to begin + rows of the weights and dscores for Transposed products, and
  /// returns the dscores for a Product.
  static const float* LayOut(const BackwardTiles& tiles, const BackwardScratch& scratch,
                             int64_t begin, int64_t, int64_t) {
    return scratch.dscores + begin * tiles.score_stride();
  }
};

/// sums [keys, padded_depth] += scores^T times the packed rows [queries, depth].
template <class Products>
HWY_INLINE void AddTransposed(const BackwardTiles& tiles, const float* scores, int64_t queries,
                              int64_t keys, const float* panels, float* sums) {
  const int64_t steps = (queries + Products::kTogether - 1) / Products::kTogether;
  for (int64_t column = 0; column < tiles.depth; column += kPanel) {
    for (int64_t key = 0; key < keys; key += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, keys - key);
      Products::Transposed(rows, tiles.depth - column)(
          scores + key, tiles.score_stride(), panels + column * steps, steps,
          sums + key * tiles.padded_depth + column, tiles.padded_depth);
    }
  }
}

/// Computes one vector of a row: `weights` holds q . k and `dscores` dout . v before, what
/// BackwardScratch says after. `factor` is 0 or 1 / (1 - p) of each.
HWY_INLINE void ScoreVector(float scale, float log_sum, float mean, VF32 factor, float* weights,
                            float* dscores) {
  const VF32 x = hn::MulSub(hn::LoadU(kF32, weights), hn::Set(kF32, scale), hn::Set(kF32, log_sum));
  const VF32 p = ExpNonPositive(kF32, x);  // is within rounding of the forward pass's
  const VF32 dp = hn::MulSub(hn::LoadU(kF32, dscores), factor, hn::Set(kF32, mean));
  hn::StoreU(hn::Mul(p, factor), kF32, weights);
  hn::StoreU(hn::Mul(hn::Mul(p, dp), hn::Set(kF32, scale)), kF32, dscores);
}

/// Does the first half of ScoreVector for a row whose mean is not known yet: `dscores` becomes
/// factor * dout . v. `left` lanes belong to the row. Returns their share of the mean.
HWY_INLINE VF32 WeighVector(float scale, float log_sum, VF32 factor, int64_t left, float* weights,
                            float* dscores, float* probabilities) {
  const VF32 x = hn::MulSub(hn::LoadU(kF32, weights), hn::Set(kF32, scale), hn::Set(kF32, log_sum));
  const VF32 p = ExpNonPositive(kF32, x);
  const VF32 dp = hn::Mul(hn::LoadU(kF32, dscores), factor);
  hn::StoreU(hn::Mul(p, factor), kF32, weights);
  hn::StoreU(dp, kF32, dscores);
  hn::StoreU(p, kF32, probabilities);
  const auto lanes = static_cast<size_t>(std::clamp<int64_t>(left, 0, kLanes));
  return hn::IfThenElseZero(hn::FirstN(kF32, lanes), hn::Mul(p, dp));
}

/// Does ScoreRow's work for a row of which the tile holds all keys: the mean is summed from the
/// products themselves. Where attention is saturated, dout . out has the rounding of far larger
/// terms. `probabilities` is scratch.
HWY_INLINE void ScoreWholeRow(const Dropout& dropout, int64_t row, int64_t head, int64_t count,
                              float scale, float log_sum, float* weights, float* dscores,
                              float* probabilities) {
  const int64_t lanes = kLanes;
  VF32 sum = hn::Zero(kF32);
  if (dropout.p == 0.0f) {
    const VF32 one = hn::Set(kF32, 1.0f);
    for (int64_t j = 0; j < count; j += lanes) {
      sum = hn::Add(sum, WeighVector(scale, log_sum, one, count - j, weights + j, dscores + j,
                                     probabilities + j));
    }
  } else {
    const AttentionDropout drawn(dropout, row, head);
    const VF32 scaled = hn::Set(kF32, drawn.scale());
    ForKeptKeys(drawn, 0, count, [&](int64_t j, hn::Mask<F32> kept) HWY_ATTR {
      sum = hn::Add(sum, WeighVector(scale, log_sum, hn::IfThenElseZero(kept, scaled), count - j,
                                     weights + j, dscores + j, probabilities + j));
    });
  }
  const VF32 mean = hn::SumOfLanes(kF32, sum);
  for (int64_t j = 0; j < count; j += lanes) {
    const VF32 dp = hn::Sub(hn::LoadU(kF32, dscores + j), mean);
    const VF32 p = hn::Mul(hn::LoadU(kF32, probabilities + j), hn::Set(kF32, scale));
    hn::StoreU(hn::Mul(p, dp), kF32, dscores + j);
  }
}

HWY_INLINE void ScoreRow(const Dropout& dropout, int64_t row, int64_t head, int64_t first_key,
                         int64_t count, float scale, float log_sum, float mean, float* weights,
                         float* dscores) {
  const VF32 one = hn::Set(kF32, 1.0f);
  if (dropout.p == 0.0f) {
    for (int64_t j = 0; j < count; j += kLanes) {
      ScoreVector(scale, log_sum, mean, one, weights + j, dscores + j);
    }
    return;
  }
  const AttentionDropout drawn(dropout, row, head);
  const VF32 scaled = hn::Set(kF32, drawn.scale());
  ForKeptKeys(drawn, first_key, count, [&](int64_t j, hn::Mask<F32> kept) HWY_ATTR {
    ScoreVector(scale, log_sum, mean, hn::IfThenElseZero(kept, scaled), weights + j, dscores + j);
  });
}

/// Computes y += a * x.
HWY_INLINE void AddScaled(float a, const float* x, int64_t count, float* y) {
  const VF32 by = hn::Set(kF32, a);
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::MulAdd(by, hn::LoadU(kF32, x + i), hn::LoadU(kF32, y + i)), kF32, y + i);
  }
  for (; i < count; ++i) y[i] += a * x[i];
}

/// Writes `count` rows of sums, rounded, to rows `stride` apart.
template <typename T>
HWY_INLINE void StoreGradients(const BackwardTiles& tiles, const float* sums, int64_t count, T* out,
                               int64_t stride) {
  const int64_t lanes = kLanes;
  for (int64_t row = 0; row < count; ++row, sums += tiles.padded_depth, out += stride) {
    int64_t i = 0;
    for (; i + lanes <= tiles.depth; i += lanes) StoreVector(hn::LoadU(kF32, sums + i), out + i);
    if (i < tiles.depth) StorePart(hn::LoadU(kF32, sums + i), out + i, tiles.depth - i);
  }
}

/// Adds to `out` the gradient of one row of relative.distances over one head of one sequence.
template <typename T>
void AddDistanceGradient(const BackwardTask<T>& task, int64_t distance, float* out) {
  const AttentionBackward<T>& args = *task.args;
  const int64_t depth = task.shape->head_size;
  const float scale = task.shape->scale;
  const float* embedding = args.relative.distances + distance * depth;
  for (int64_t row = task.first_query; row < task.first_query + task.queries; ++row) {
    const int64_t j = task.place(row) + args.relative.positions - 1 - distance;
    if (j < 0 || j >= task.keys) continue;
    const T* q = task.rows(args.q, row).data;
    const T* k = task.rows(args.k, task.first_key + j).data;
    const T* dout = task.dense(args.dout, row).data;
    float score = Dot(q, k, depth) + Dot(q, embedding, depth);
    if (args.relative.with_keys) score += Dot(k, embedding, depth);
    const float p = std::exp(scale * score - task.log_sum(row));
    const float factor = attention_factor(args.dropout, row, task.head, j);
    const float dp = Dot(dout, task.rows(args.v, task.first_key + j).data, depth) * factor;
    const float ds = scale * p * (dp - Dot(dout, task.dense(args.out, row).data, depth));
    for (int64_t i = 0; i < depth; ++i) {
      out[i] += ds * (Load1(q + i) + (args.relative.with_keys ? Load1(k + i) : 0.0f));
    }
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

#include "ops/embedding.h"

#include "kernels/cpu/embedding.h"
#include "ops/by_dtype.h"
#include "plan/execution.h"

namespace hone::ops {

Value embed_tokens(Plan& plan, Value ids, Value positions, Value types,
                   const EmbeddingWeights& weights, DType out) {
  const Value y = plan.temporary(out, ids.rows, weights.word.width);
  plan.add({"embedding", {ids, positions, types}, {y}, [=](const Frame& frame) {
              const kernels::NormWeights norm{frame.weight<float>(weights.norm_weight),
                                              frame.weight<float>(weights.norm_bias), weights.eps};
              const kernels::EmbeddingIds rows{frame.data<const int32_t>(ids),
                                               frame.data<const int32_t>(types),
                                               frame.data<const int32_t>(positions)};
              by_dtype(weights.word.dtype, [&]<typename Table>(Table) {
                const kernels::EmbeddingTables<Table> tables{
                    frame.weight<Table>(weights.word), frame.weight<Table>(weights.type),
                    frame.weight<Table>(weights.position), weights.word.width};
                by_dtype(y.dtype, [&]<typename Out>(Out) {
                  kernels::embed_and_normalize<Table, Out>(tables, rows, frame.rows(ids), norm,
                                                           frame.data<Out>(y), {}, frame.pool());
                });
              });
            }});
  return y;
}

}  // namespace hone::ops

#include "kernels/cpu/embedding.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embedding.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/layer_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <typename Table, typename Out>
void EmbedRows(const EmbeddingTables<Table>& tables, const EmbeddingIds& ids, int64_t begin,
               int64_t end, const NormWeights& norm, Out* y, const NormStatistics& statistics) {
  const int64_t width = tables.width;
  for (int64_t i = begin; i < end; ++i) {
    RowSum<Table> row{tables.word + ids.word[i] * width};
    if (tables.type) row.b = tables.type + (ids.type ? ids.type[i] : 0) * width;
    if (tables.position) row.c = tables.position + ids.position[i] * width;
    NormalizeRow(row, width, norm, y + i * width, statistics, i);
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/rows.h"

namespace hone::kernels {

template <typename Table, typename Out>
void embed_and_normalize(const EmbeddingTables<Table>& tables, const EmbeddingIds& ids,
                         int64_t tokens, const NormWeights& norm, Out* y, NormStatistics statistics,
                         ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(EmbedRows<Table, Out>);
  for_row_ranges(tokens, tables.width, pool, [&](int64_t begin, int64_t end) {
    kernel(tables, ids, begin, end, norm, y, statistics);
  });
}

template void embed_and_normalize(const EmbeddingTables<float>&, const EmbeddingIds&, int64_t,
                                  const NormWeights&, float*, NormStatistics, ThreadPool&);
template void embed_and_normalize(const EmbeddingTables<float>&, const EmbeddingIds&, int64_t,
                                  const NormWeights&, bf16*, NormStatistics, ThreadPool&);
template void embed_and_normalize(const EmbeddingTables<bf16>&, const EmbeddingIds&, int64_t,
                                  const NormWeights&, float*, NormStatistics, ThreadPool&);
template void embed_and_normalize(const EmbeddingTables<bf16>&, const EmbeddingIds&, int64_t,
                                  const NormWeights&, bf16*, NormStatistics, ThreadPool&);

}  // namespace hone::kernels
#endif

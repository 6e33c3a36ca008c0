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

/// Rows of bytes, each with its scale; added as RowSum adds.
class Int8RowSum {
 public:
  HWY_INLINE void Add(const Int8Table& table, int64_t index, int64_t width) {
    rows_[count_] = table.rows + index * width;
    scales_[count_++] = table.scales[index];
  }
  HWY_INLINE VF32 Load(int64_t i) const {
    return Sum([i](const int8_t* row) HWY_ATTR { return hn::LoadU(I8(), row + i); });
  }
  HWY_INLINE VF32 LoadTail(int64_t i, size_t count) const {
    return Sum([i, count](const int8_t* row) HWY_ATTR {
      alignas(64) int8_t part[kLanes] = {};
      std::memcpy(part, row + i, count);
      return hn::Load(I8(), part);
    });
  }

 private:
  using I8 = hn::Rebind<int8_t, F32>;

  template <class LoadBytes>
  HWY_INLINE VF32 Sum(const LoadBytes& load) const {
    const hn::RebindToSigned<F32> di;
    VF32 sum = hn::Zero(kF32);
    for (int r = 0; r < count_; ++r) {
      const VF32 row = hn::ConvertTo(kF32, hn::PromoteTo(di, load(rows_[r])));
      sum = hn::MulAdd(row, hn::Set(kF32, scales_[r]), sum);
    }
    return sum;
  }

  const int8_t* rows_[3];
  float scales_[3];
  int count_ = 0;
};

template <typename Out>
void EmbedInt8Rows(const Int8Tables& tables, const EmbeddingIds& ids, int64_t begin, int64_t end,
                   const NormWeights& norm, Out* y) {
  const int64_t width = tables.width;
  for (int64_t i = begin; i < end; ++i) {
    Int8RowSum row;
    row.Add(tables.word, ids.word[i], width);
    if (tables.type.rows) row.Add(tables.type, ids.type ? ids.type[i] : 0, width);
    if (tables.position.rows) row.Add(tables.position, ids.position[i], width);
    NormalizeRow(row, width, norm, y + i * width, {}, i);
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

template <typename Out>
void embed_and_normalize(const Int8Tables& tables, const EmbeddingIds& ids, int64_t tokens,
                         const NormWeights& norm, Out* y, ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(EmbedInt8Rows<Out>);
  for_row_ranges(tokens, tables.width, pool,
                 [&](int64_t begin, int64_t end) { kernel(tables, ids, begin, end, norm, y); });
}

template void embed_and_normalize(const Int8Tables&, const EmbeddingIds&, int64_t,
                                  const NormWeights&, float*, ThreadPool&);
template void embed_and_normalize(const Int8Tables&, const EmbeddingIds&, int64_t,
                                  const NormWeights&, bf16*, ThreadPool&);
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

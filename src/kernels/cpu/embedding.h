#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/layer_norm.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// Dense [entries, width] tables; null where the model has none.
template <typename Table>
struct EmbeddingTables {
  const Table* word;
  const Table* type = nullptr;
  const Table* position = nullptr;
  int64_t width;
};

/// [tokens] each, in range of their tables. Those of a table that is null are not read.
struct EmbeddingIds {
  const int32_t* word;
  const int32_t* type = nullptr;      ///< null: type 0 for every token
  const int32_t* position = nullptr;  ///< given wherever there is a position table
};

/// y [tokens, width] = LayerNorm(word row + type row + position row), added in that order.
/// Statistics are those of layer_norm(). For float and bf16, in any mix.
template <typename Table, typename Out>
void embed_and_normalize(const EmbeddingTables<Table>& tables, const EmbeddingIds& ids,
                         int64_t tokens, const NormWeights& norm, Out* y, NormStatistics statistics,
                         ThreadPool& pool);

}  // namespace hone::kernels

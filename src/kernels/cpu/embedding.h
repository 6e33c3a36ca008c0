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

/// The ids are [tokens] each, in range of their tables. Those of a table that is null are not read.
struct EmbeddingIds {
  const int32_t* word;
  const int32_t* type = nullptr;      ///< null: type 0 for every token
  const int32_t* position = nullptr;  ///< given wherever there is a position table
};

/// y [tokens, width] = LayerNorm(word row + type row + position row), added in that order.
/// Statistics are those of layer_norm(). Types are float and bf16, in any mix.
template <typename Table, typename Out>
void embed_and_normalize(const EmbeddingTables<Table>& tables, const EmbeddingIds& ids,
                         int64_t tokens, const NormWeights& norm, Out* y, NormStatistics statistics,
                         ThreadPool& pool);

/// A table of bytes: row i is scales[i] * rows[i].
struct Int8Table {
  const int8_t* rows = nullptr;
  const float* scales = nullptr;
};
/// Gives where the scales of a table in a single block begin: behind its bytes, filled up to whole
/// cache lines.
constexpr int64_t int8_table_scales_at(int64_t rows, int64_t width) {
  return (rows * width + 63) / 64 * 64;
}
constexpr size_t int8_table_bytes(int64_t rows, int64_t width) {
  return static_cast<size_t>(int8_table_scales_at(rows, width)) +
         static_cast<size_t>(rows) * sizeof(float);
}
inline Int8Table int8_table(const void* block, int64_t rows, int64_t width) {
  const auto* bytes = static_cast<const int8_t*>(block);
  return {bytes, reinterpret_cast<const float*>(bytes + int8_table_scales_at(rows, width))};
}

struct Int8Tables {
  Int8Table word;
  Int8Table type;      ///< rows null: there is no such table
  Int8Table position;  ///< rows null: there is no such table
  int64_t width;
};

/// Computes embed_and_normalize() over tables of bytes. Out is float or bf16.
template <typename Out>
void embed_and_normalize(const Int8Tables& tables, const EmbeddingIds& ids, int64_t tokens,
                         const NormWeights& norm, Out* y, ThreadPool& pool);

}  // namespace hone::kernels

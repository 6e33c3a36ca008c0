#include "kernels/cuda/embedding.h"

#include "kernels/cuda/norm_forward.cuh"

namespace hone::kernels::cuda {
namespace {

/// The rows are s = word + type + position, added in this order. Its kernel is the first of a pass:
/// those behind may read weights ahead, so it lets them start when all before it is done.
template <typename Table>
struct EmbeddingSource {
  const Table *word, *type, *position;
  const int32_t *word_ids, *type_ids, *position_ids;
  Dropout dropout;  // none

  static constexpr bool kAhead = false;

  struct Parts {
    Chunk word, type, position;
  };
  template <bool kAligned>
  __device__ __forceinline__ void fetch_ahead(Parts& parts, int, int) const {
    parts = {};
  }
  template <bool kAligned>
  __device__ __forceinline__ void fetch(Parts& parts, int64_t row, int at, int width) const {
    const auto entry = [&](const Table* table, int64_t id) {
      return load_columns<kAligned>(table + id * width, at, width);
    };
    parts.word = entry(word, word_ids[row]);
    if (type) parts.type = entry(type, type_ids ? type_ids[row] : 0);
    if (position) parts.position = entry(position, position_ids[row]);
  }
  __device__ __forceinline__ Chunk sum(const Parts& parts, const Dropper&, int64_t, int) const {
    Chunk s;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      s.value[j] = parts.word.value[j] + parts.type.value[j] + parts.position.value[j];
    }
    return s;
  }
};

template <typename Table, typename T>
Status launch_embedding(const EmbeddingForward& e, const NormForward& norm, Stream stream) {
  const EmbeddingSource<Table> source{static_cast<const Table*>(e.word),
                                      static_cast<const Table*>(e.type),
                                      static_cast<const Table*>(e.position),
                                      e.word_ids,
                                      e.type_ids,
                                      e.position_ids,
                                      {}};
  const bool aligned = aligned16(e.word) && aligned16(e.type) && aligned16(e.position);
  return launch_norm<T>(norm, source, aligned, stream);
}

}  // namespace

Status embed_and_normalize(const EmbeddingForward& embedding, const NormForward& norm,
                           Stream stream) {
  if (norm.rows == 0) return nullptr;
  return by_dtype(norm.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (embedding.table_dtype == norm.dtype) return launch_embedding<T, T>(embedding, norm, stream);
    if (embedding.table_dtype != DType::f32) return Status("embedding tables are of another dtype");
    return launch_embedding<float, T>(embedding, norm, stream);
  });
}

}  // namespace hone::kernels::cuda

#include "explain/concepts.h"

#include <algorithm>
#include <cstring>

namespace hone::explain {

SearchVectors search_vectors(const ConceptStore& store) {
  const int64_t stride = row_stride(DType::f32, store.width());
  const auto bytes = static_cast<size_t>(store.size() * stride) * sizeof(float);
  SearchVectors out{Buffer(bytes), store.size(), store.width()};
  std::memset(out.data.data(), 0, bytes);
  for (int64_t i = 0; i < store.size(); ++i) {
    read_row(store.rows(), i, out.data.as<float>() + i * stride);
  }
  out.mean.assign(store.mean().begin(), store.mean().end());
  out.norms.assign(store.norms().begin(), store.norms().end());
  if (const float* biases = store.rows().biases) out.biases.assign(biases, biases + store.size());
  return out;
}

Concepts::Concepts(SearchVectors vectors, std::shared_ptr<const RowConcepts> own, ThreadPool& pool)
    : vectors_(std::move(vectors)),
      own_(std::move(own)),
      rows_(vectors_.rows()),
      mean_(vectors_.mean),
      norms_(vectors_.norms),
      search_(rows_, Scan::exact, pool) {}

Concepts::Concepts(std::shared_ptr<const ConceptStore> store, Scan scan, ThreadPool& pool)
    : store_(std::move(store)),
      rows_(store_->rows()),
      mean_(store_->mean()),
      norms_(store_->norms()),
      search_(rows_, scan, pool) {}

void Concepts::retrieve(const float* u, int64_t count, const int64_t* rows, int64_t k,
                        ThreadPool& pool, std::vector<Neighbour>& out) const {
  std::vector<float> queries(u, u + count * width());
  for (int64_t i = 0; !mean_.empty() && i < count; ++i) {
    float* query = queries.data() + i * width();
    centre_vector(query, mean_.data(), width(), query);
  }
  std::vector<std::span<const int32_t>> excluded;
  for (int64_t i = 0; rows && own_ && i < count; ++i) excluded.push_back(own_->of(rows[i]));
  search_.search(queries.data(), count, k, excluded, pool, out);
}

void Concepts::vector(int64_t concept_index, float* out) const {
  read_row(rows_, concept_index, out);
  if (mean_.empty()) return;
  const float norm = norms_[static_cast<size_t>(concept_index)];
  for (size_t i = 0; i < mean_.size(); ++i) out[i] = out[i] * norm + mean_[i];
}

}  // namespace hone::explain

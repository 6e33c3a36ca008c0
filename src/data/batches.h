#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/sampler.h"
#include "data/token_store.h"

namespace hone::data {

/// Samples one behind the other, without padding. Storage is used again.
struct PackedBatch {
  DataPosition begin;
  DataPosition end;  ///< where the next batch begins; of the next epoch after an epoch's last

  std::vector<int64_t> samples;   ///< indices in the store: the global sample of random keys
  std::vector<int32_t> ids;       ///< [tokens]
  std::vector<int32_t> type_ids;  ///< [tokens]
  std::vector<int32_t> offsets;   ///< [samples + 1]
  std::vector<int64_t> classes;   ///< [samples] where labels are classes
  std::vector<float> targets;     ///< [samples, target width] where they are scores or flags

  int64_t size() const { return static_cast<int64_t>(samples.size()); }
  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  bool ends_epoch() const { return end.epoch > begin.epoch; }
};

/// Fills everything but the positions from `batch.samples`.
void pack(const TokenStore& store, PackedBatch& batch);

}  // namespace hone::data

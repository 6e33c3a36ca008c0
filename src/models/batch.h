#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/config.h"
#include "models/encoder.h"
#include "plan/execution.h"

namespace hone::models {

/// Sequences packed one behind the other: nothing is stored or computed for padding.
class Batch {
 public:
  /// `config` must outlive this.
  explicit Batch(const EncoderConfig& config) : config_(&config) { clear(); }

  void clear();
  /// Appends one sequence. It must not be empty nor longer than config.max_tokens(); an id or type
  /// out of range is an error that names it. `types` may be empty: all 0. `sample` numbers the
  /// sequence in its data set, for training's dropout.
  void add(std::span<const int32_t> ids, std::span<const int32_t> types = {}, int64_t sample = 0);

  int64_t sequences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t tokens() const { return static_cast<int64_t>(ids_.size()); }
  /// The tokens of one sequence.
  std::span<const int32_t> ids(int64_t sequence) const;
  /// Of all sequences, one behind the other.
  std::span<const int32_t> ids() const { return ids_; }
  std::span<const int32_t> types() const { return types_; }
  std::span<const int32_t> positions() const { return positions_; }
  /// Where it begins among the batch's.
  int64_t first_token(int64_t sequence) const { return offsets_[static_cast<size_t>(sequence)]; }
  /// These sequences alone, in this order.
  Batch subset(std::span<const int64_t> sequences) const;
  Extents extents() const;
  void bind(const EncoderInputs& inputs, Execution& execution) const;

 private:
  const EncoderConfig* config_;
  int64_t longest_ = 0;
  std::vector<int32_t> ids_;
  std::vector<int32_t> types_;
  std::vector<int32_t> positions_;
  std::vector<int32_t> places_;
  std::vector<int32_t> offsets_;
  std::vector<int32_t> reads_;
  std::vector<int32_t> read_offsets_;
  std::vector<int32_t> read_places_;
  std::vector<int64_t> samples_;
  std::vector<int64_t> read_samples_;
};

}  // namespace hone::models

#pragma once

#include "data/text_batch.h"
#include "models/config.h"
#include "nn/packing.h"

namespace hone::models {

/// A text batch that is filled sequence by sequence, for an encoder of one config.
class TextBatch : public data::Batch {
 public:
  explicit TextBatch(const EncoderConfig& config)
      : data::Batch(data::text_layout()), limits_(config.limits()) {}

  /// Appends one sequence, as data::append_tokens() does.
  void add(std::span<const int32_t> ids, std::span<const int32_t> types = {}, int64_t sample = 0) {
    data::append_tokens(limits_, ids, types, sample, *this);
  }
  int64_t sequences() const { return size(); }
  int64_t tokens() const { return rows(nn::kTokens); }
  /// The tokens of one sequence.
  std::span<const int32_t> ids(int64_t sequence) const {
    return array<int32_t>(data::kIds)
        .subspan(static_cast<size_t>(first(nn::kTokens, sequence)),
                 static_cast<size_t>(rows(nn::kTokens, sequence)));
  }

 private:
  data::TextLimits limits_;
};

}  // namespace hone::models

#include "models/batch.h"

#include <algorithm>

#include "base/error.h"

namespace hone::models {

void Batch::clear() {
  for (auto* array : {&ids_, &types_, &positions_, &places_, &reads_, &read_places_})
    array->clear();
  samples_.clear();
  read_samples_.clear();
  longest_ = 0;
  offsets_.assign(1, 0);
  read_offsets_.assign(1, 0);
}

void Batch::add(std::span<const int32_t> ids, std::span<const int32_t> types, int64_t sample) {
  const auto length = static_cast<int64_t>(ids.size());
  if (length < 1 || length > config_->max_tokens()) {
    fail(ErrorKind::usage, "a sequence of {} tokens; the model takes 1 to {}", length,
         config_->max_tokens());
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= config_->vocab_size) {
      fail(ErrorKind::usage, "token id {} is outside the model's {} embeddings", ids[i],
           config_->vocab_size);
    }
    const int32_t type = types.empty() ? 0 : types[i];
    if (config_->type_vocab_size > 0 && (type < 0 || type >= config_->type_vocab_size)) {
      fail(ErrorKind::usage, "token type {} is outside the model's {}", type,
           config_->type_vocab_size);
    }
  }
  longest_ = std::max(longest_, length);
  reads_.push_back(static_cast<int32_t>(ids_.size()));
  read_places_.push_back(0);
  read_samples_.push_back(sample);
  samples_.insert(samples_.end(), ids.size(), sample);
  auto counted = static_cast<int32_t>(config_->pad_id);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids_.push_back(ids[i]);
    types_.push_back(types.empty() ? 0 : types[i]);
    places_.push_back(static_cast<int32_t>(i));
    const bool pad = ids[i] == config_->pad_id;
    if (!config_->positions_skip_pad) {
      positions_.push_back(static_cast<int32_t>(i));
    } else {
      positions_.push_back(pad ? static_cast<int32_t>(config_->pad_id) : ++counted);
    }
  }
  offsets_.push_back(static_cast<int32_t>(ids_.size()));
  read_offsets_.push_back(static_cast<int32_t>(reads_.size()));
}

std::span<const int32_t> Batch::ids(int64_t sequence) const {
  const auto at = static_cast<size_t>(sequence);
  const auto begin = static_cast<size_t>(offsets_[at]);
  return std::span(ids_).subspan(begin, static_cast<size_t>(offsets_[at + 1]) - begin);
}

Batch Batch::subset(std::span<const int64_t> sequences) const {
  Batch batch(*config_);
  for (const int64_t sequence : sequences) {
    const auto begin = static_cast<size_t>(first_token(sequence));
    const std::span<const int32_t> own = ids(sequence);
    batch.add(own, std::span(types_).subspan(begin, own.size()), samples_[begin]);
  }
  return batch;
}

Extents Batch::extents() const {
  Extents extents;
  extents[Axis::tokens] = tokens();
  extents[Axis::sequences] = sequences();
  extents[Axis::reads] = static_cast<int64_t>(reads_.size());
  extents.longest = longest_;
  return extents;
}

void Batch::bind(const EncoderInputs& inputs, Execution& execution) const {
  execution.bind(inputs.ids, ids_.data());
  execution.bind(inputs.types, types_.data());
  execution.bind(inputs.positions, positions_.data());
  execution.bind(inputs.packing.offsets, offsets_.data());
  execution.bind(inputs.packing.places, places_.data());
  execution.bind(inputs.packing.reads, reads_.data());
  execution.bind(inputs.packing.read_offsets, read_offsets_.data());
  execution.bind(inputs.packing.read_places, read_places_.data());
  execution.bind(inputs.packing.samples, samples_.data());
  execution.bind(inputs.packing.read_samples, read_samples_.data());
}

}  // namespace hone::models

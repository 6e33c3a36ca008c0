#include "nn/packing.h"

#include <algorithm>
#include <bit>

namespace hone::nn {
namespace {

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

int64_t power_below(int64_t value) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(value)));
}

/// Rounds in steps that a product's tiles can hardly tell apart, so that few buckets serve all
/// batches: from 1,024 tokens on at most 3% more than there are.
int64_t round_tokens(int64_t tokens) {
  if (tokens <= 32) return round_up(tokens, 8);
  return round_up(tokens, std::clamp<int64_t>(power_below(tokens) / 32, 32, 1024));
}

int64_t round_sequences(int64_t sequences) {
  if (sequences <= 2) return sequences;
  return round_up(sequences, std::max<int64_t>(2, power_below(sequences) / 4));
}

int64_t round_longest(int64_t longest) {
  const auto least = static_cast<uint64_t>(std::max<int64_t>(1, longest));
  return std::max<int64_t>(32, static_cast<int64_t>(std::bit_ceil(least)));
}

}  // namespace

std::shared_ptr<const Axes> packed_axes(bool pads_sequences) {
  auto axes = std::make_shared<Axes>();
  axes->count(kTokens, "tokens",
              [](const Extents& batch, const Extents&) { return round_tokens(batch[kTokens]); });
  const auto sequences = [](const Extents& batch, const Extents&) {
    return round_sequences(batch[kSequences]);
  };
  // Either one row of each sequence is read, or all rows of all.
  const auto reads = [](const Extents& batch, const Extents& bucket) {
    return batch[kReads] == batch[kSequences] ? bucket[kSequences] : round_tokens(batch[kReads]);
  };
  axes->count(kSequences, "sequences", pads_sequences ? Axes::Round(sequences) : Axes::Round());
  axes->count(kReads, "reads", pads_sequences ? Axes::Round(reads) : Axes::Round());
  axes->count(kLongest, "longest", [](const Extents& batch, const Extents& bucket) {
    return std::min(round_longest(batch[kLongest]), bucket[kTokens]);
  });
  return axes;
}

}  // namespace hone::nn

#include "data/text_batch.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "nn/packing.h"

namespace hone::data {

std::shared_ptr<const BatchLayout> text_layout() {
  static const auto layout = [] {
    using Role = InputSpec::Role;
    const auto tokens = [](const char* name, DType dtype = DType::i32) {
      return InputSpec{name, dtype, nn::kTokens};
    };
    const auto offsets = [](const char* name, Axis of) {
      return InputSpec{name, DType::i32, nn::kSequences, 1, Filler::last, Role::offsets, of};
    };
    auto made = std::make_shared<BatchLayout>();
    made->inputs = {
        tokens("ids"),
        tokens("types"),
        tokens("positions"),
        offsets("offsets", nn::kTokens),
        tokens("places"),
        {"reads", DType::i32, nn::kReads, 1, Filler::minus_one, Role::indices, nn::kTokens},
        offsets("read_offsets", nn::kReads),
        {"read_places", DType::i32, nn::kReads},
        tokens("samples", DType::i64),
        {"read_samples", DType::i64, nn::kReads}};
    made->axes = {nn::kTokens, nn::kSequences, nn::kReads};
    made->longest = nn::kLongest;
    made->longest_of = nn::kTokens;
    made->extents = [](int64_t samples, int64_t units, int64_t longest) {
      Extents extents;
      extents[nn::kTokens] = units;
      extents[nn::kSequences] = extents[nn::kReads] = samples;
      extents[nn::kLongest] = std::min(longest, units);
      return extents;
    };
    return std::shared_ptr<const BatchLayout>(std::move(made));
  }();
  return layout;
}

namespace {

void check(const TextLimits& limits, std::span<const int32_t> ids, std::span<const int32_t> types) {
  const auto length = static_cast<int64_t>(ids.size());
  if (length < 1 || length > limits.max_tokens) {
    fail(ErrorKind::usage, "a sequence of {} tokens; the model takes 1 to {}", length,
         limits.max_tokens);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= limits.vocabulary) {
      fail(ErrorKind::usage, "token id {} is outside the model's {} embeddings", ids[i],
           limits.vocabulary);
    }
    const int32_t type = types.empty() ? 0 : types[i];
    if (limits.types > 0 && (type < 0 || type >= limits.types)) {
      fail(ErrorKind::usage, "token type {} is outside the model's {}", type, limits.types);
    }
  }
}

}  // namespace

void append_tokens(const TextLimits& limits, std::span<const int32_t> ids,
                   std::span<const int32_t> types, int64_t sample, Batch& batch,
                   std::span<const int64_t> more) {
  check(limits, ids, types);
  const auto length = static_cast<int64_t>(ids.size());
  const auto first = static_cast<int32_t>(batch.rows(nn::kTokens));
  std::array<int64_t, kMaxAxes> counts = {length, 1, 1};
  std::copy(more.begin(), more.end(), counts.begin() + 3);
  batch.add(std::span(counts).first(3 + more.size()));
  batch.units += length;
  std::copy(ids.begin(), ids.end(), batch.last<int32_t>(kIds).begin());
  if (!types.empty()) std::copy(types.begin(), types.end(), batch.last<int32_t>(kTypes).begin());
  const std::span<int32_t> places = batch.last<int32_t>(kPlaces);
  std::iota(places.begin(), places.end(), 0);
  const std::span<int32_t> positions = batch.last<int32_t>(kPositions);
  if (limits.positions_skip_pad) {
    const auto pad = static_cast<int32_t>(limits.pad_id);
    int32_t counted = pad;
    for (size_t i = 0; i < ids.size(); ++i) positions[i] = ids[i] == pad ? pad : ++counted;
  } else {
    std::iota(positions.begin(), positions.end(), 0);
  }
  const auto read = static_cast<int32_t>(limits.reads_last ? length - 1 : 0);
  batch.last<int32_t>(kReads).front() = first + read;
  batch.last<int32_t>(kReadPlaces).front() = read;
  std::fill_n(batch.last<int64_t>(kSamples).begin(), ids.size(), sample);
  batch.last<int64_t>(kReadSamples).front() = sample;
}

}  // namespace hone::data

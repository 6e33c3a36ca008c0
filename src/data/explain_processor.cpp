#include "data/explain_processor.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "kernels/cpu/chart.h"
#include "nn/packing.h"

namespace hone::data {
namespace {

using LeafSpan = std::pair<int32_t, int32_t>;

// The stream of random numbers that chooses phrases to be taken out.
constexpr uint64_t kMaskingStream = 0x6d61736b;

/// Gives a sample's phrases in a tree's order; no more than there are places.
std::vector<LeafSpan> phrases_of(std::span<const std::byte> sample, int64_t places) {
  std::vector<LeafSpan> phrases = marked_constituents(sample);
  std::sort(phrases.begin(), phrases.end(), [](const LeafSpan& a, const LeafSpan& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  phrases.resize(std::min(phrases.size(), static_cast<size_t>(places)));
  return phrases;
}

int64_t places_of(int64_t leaves) { return std::max<int64_t>(0, leaves - 2); }

}  // namespace

std::shared_ptr<const BatchLayout> explain_layout() {
  static const auto layout = [] {
    using Role = InputSpec::Role;
    auto made = std::make_shared<BatchLayout>(*parse_layout());
    made->inputs.push_back(
        {"phrase_offsets", DType::i32, nn::kSequences, 1, Filler::last, Role::offsets, kPhrases});
    made->inputs.push_back(
        {"phrases", DType::i32, kPhrases, 2, Filler::zero, Role::indices, nn::kTokens});
    made->inputs.push_back({"given", DType::i32, nn::kSequences});
    made->axes.push_back(kPhrases);
    made->extents = [](int64_t samples, int64_t units, int64_t longest) {
      Extents extents = parse_layout()->extents(samples, units, longest);
      extents[kPhrases] = units;
      return extents;
    };
    return std::shared_ptr<const BatchLayout>(std::move(made));
  }();
  return layout;
}

Hash128 ExplainProcessor::hash() const {
  ContentHash hash;
  hash.text("words and phrases");
  // NOLINTNEXTLINE(bugprone-parent-virtual-call): its samples hold what a text's do, not a tree.
  for (const uint64_t part : TextProcessor::hash()) hash.number(part);
  for (const uint64_t part : trees_ ? trees_->hash : Hash128{}) hash.number(part);
  return hash.value();
}

void ExplainProcessor::add_to(EncodedSample& sample, const RawSample& raw,
                              const text::Encoding& encoding) const {
  if (raw.pair) {
    fail(ErrorKind::unsupported, "a pair of texts; a self-explaining model reads one: {}",
         quote(raw.text, 40));
  }
  trees::Tree tree;
  std::vector<trees::WordPlace> words;
  std::optional<trees::Tree> found = trees_ ? trees_->index.find(raw.text) : std::nullopt;
  if (found) {
    if (auto located = trees::locate_words(*found, raw.text)) {
      words = std::move(*located);
      tree = std::move(*found);
    } else {
      found.reset();
    }
  }
  if (!found) words = trees::split_words(raw.text);
  const Leaves leaves = find_leaves(words, encoding);
  const int64_t cut = mark_tree(tree, words.size(), leaves, CutConstituents::left_out, sample);
  if (!found || leaves.list.empty()) return;
  const TreeMarks<std::byte> marks{std::span(sample.bytes)};
  marks.begins(leaves.list.front().token) = kGivenMark;
  // A first token that is no word has room for a number.
  if (leaves.list.front().token > 0) {
    marks.closes(0) = static_cast<std::byte>(std::min<int64_t>(cut, UINT8_MAX));
  }
}

int64_t ExplainProcessor::cut_phrases(std::span<const std::byte> sample) {
  const TreeMarks<const std::byte> marks(sample);
  if (marks.tokens == 0 || marks.begins(0) != std::byte{0}) return 0;
  return static_cast<int64_t>(marks.closes(0));
}

void ExplainProcessor::append(std::span<const std::byte> sample, int64_t number,
                              Batch& batch) const {
  const int64_t places = places_of(std::ssize(leaf_tokens(sample)));
  append_words(sample, number, batch, {&places, 1});
  batch.last<int32_t>(kGiven).front() = has_given_tree(sample) ? 1 : 0;
  const std::span<int32_t> spans = batch.last<int32_t>(kPhraseSpans);
  const std::span<const int32_t> before = batch.last<int32_t>(kBefore);
  const std::span<const int32_t> behind = batch.last<int32_t>(kBehind);
  size_t at = 0;
  for (const auto& [begin, end] : phrases_of(sample, places)) {
    spans[at++] = behind[static_cast<size_t>(begin)];
    spans[at++] = before[static_cast<size_t>(end)] + 1;
  }
}

Processor::Mixed ExplainProcessor::append_for_training(std::span<const std::byte> sample,
                                                       int64_t number, const OtherSamples&,
                                                       Batch& batch) const {
  const auto key = (static_cast<uint64_t>(batch.begin.epoch) << 40) ^ static_cast<uint64_t>(number);
  const auto random = philox(seed_, kMaskingStream, key);
  std::vector<LeafSpan> phrases;
  if (masking_ > 0 && double{uniform(random[0])} < masking_) {
    phrases = phrases_of(sample, places_of(std::ssize(leaf_tokens(sample))));
  }
  if (phrases.empty()) {
    append(sample, number, batch);
  } else {
    const auto [begin, end] = phrases[random[1] % phrases.size()];
    append(without_leaves(sample, begin, end), number, batch);
  }
  return {number, 1};
}

std::vector<std::byte> without_leaves(std::span<const std::byte> sample, int32_t begin,
                                      int32_t end) {
  const TreeMarks<const std::byte> marks(sample);
  const std::vector<int32_t> leaves = leaf_tokens(sample);
  const auto tokens = static_cast<int32_t>(marks.tokens);
  const int32_t first = leaves[static_cast<size_t>(begin)];
  const int32_t last = static_cast<size_t>(end) < leaves.size()
                           ? leaves[static_cast<size_t>(end)]
                           : std::max(leaves.back() + 1, tokens - 1);
  const int32_t taken = last - first;
  const auto kept = static_cast<size_t>(tokens - taken);
  std::vector<std::byte> out(kept * TreeMarks<std::byte>::kUnit);
  size_t to = 0;
  const auto copy = [&](size_t from, size_t width) {
    std::memcpy(out.data() + to, sample.data() + from, static_cast<size_t>(first) * width);
    to += static_cast<size_t>(first) * width;
    const auto rest = static_cast<size_t>(tokens - last) * width;
    std::memcpy(out.data() + to, sample.data() + from + static_cast<size_t>(last) * width, rest);
    to += rest;
  };
  copy(0, sizeof(int32_t));
  copy(marks.tokens * sizeof(int32_t), 1);
  std::vector<int32_t> kept_leaves;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto leaf = static_cast<int32_t>(i);
    if (leaf < begin) kept_leaves.push_back(leaves[i]);
    if (leaf >= end) kept_leaves.push_back(leaves[i] - taken);
  }
  const auto moved = [&](int32_t bound) {
    return bound <= begin ? bound : std::max(begin, bound - (end - begin));
  };
  std::set<LeafSpan> constituents;
  for (const auto& [from, till] : marked_constituents(sample)) {
    const int32_t a = moved(from), b = moved(till);
    if (b - a >= 2 && b - a < std::ssize(kept_leaves)) constituents.emplace(a, b);
  }
  const std::vector<LeafSpan> list(constituents.begin(), constituents.end());
  mark_constituents(kept_leaves, list, out);
  if (!kept_leaves.empty() && has_given_tree(sample)) {
    TreeMarks<std::byte>(out).begins(static_cast<size_t>(kept_leaves.front())) = kGivenMark;
  }
  return out;
}

}  // namespace hone::data

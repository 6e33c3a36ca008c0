#include "data/parse_processor.h"

#include <algorithm>

#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/cpu/chart.h"
#include "nn/packing.h"
#include "trees/brackets.h"

namespace hone::data {
namespace {

trees::Tree tree_of(const RawSample& raw) {
  trees::BracketReader reader;
  std::vector<trees::Tree> trees;
  const std::string problem = reader.take(*raw.pair, trees);
  if (!problem.empty() || reader.open() || trees.size() != 1) {
    fail(ErrorKind::bad_file, "tree: expected one tree in brackets, got {}", quote(*raw.pair));
  }
  return std::move(trees.front());
}

}  // namespace

std::shared_ptr<const BatchLayout> parse_layout() {
  static const auto layout = [] {
    using Role = InputSpec::Role;
    const auto offsets = [](const char* name, Axis of) {
      return InputSpec{name, DType::i32, nn::kSequences, 1, Filler::last, Role::offsets, of};
    };
    const auto rows = [](const char* name) {
      return InputSpec{name, DType::i32, kBounds, 1, Filler::minus_one, Role::indices, nn::kTokens};
    };
    auto made = std::make_shared<BatchLayout>(*text_layout());
    for (const InputSpec& input :
         {offsets("bound_offsets", kBounds), offsets("cell_offsets", kCells), rows("before"),
          rows("behind"), InputSpec{"gold", DType::i32, kCells}}) {
      made->inputs.push_back(input);
    }
    made->axes.insert(made->axes.end(), {kBounds, kCells});
    made->extents = [](int64_t samples, int64_t units, int64_t longest) {
      Extents extents = text_layout()->extents(samples, units, longest);
      extents[kBounds] = units + samples;
      // Texts of the greatest length have the most spans.
      const int64_t words = std::min(extents[nn::kLongest], kernels::kMostChartWords);
      const int64_t texts = words > 0 ? (units + words - 1) / words : 0;
      extents[kCells] = texts * kernels::chart_cells(words);
      return extents;
    };
    return std::shared_ptr<const BatchLayout>(std::move(made));
  }();
  return layout;
}

Leaves find_leaves(std::span<const trees::WordPlace> words, const text::Encoding& encoding) {
  Leaves leaves;
  const auto size = static_cast<uint32_t>(encoding.size());
  uint32_t token = 0;
  for (uint32_t word = 0; word < words.size(); ++word) {
    // The word's first token of its own: behind those of the words before it.
    uint32_t at = token;
    while (at < size && (encoding.special[at] || encoding.offsets[at].end <= words[word].begin)) {
      ++at;
    }
    if (at == size) {
      // Words behind the last token were cut off, but where nothing was cut they have none.
      if (encoding.truncated() == 0 && !leaves.list.empty()) leaves.words = word + 1;
      continue;
    }
    const bool own = encoding.offsets[at].begin < words[word].end;
    if (own || leaves.list.empty()) {
      if (std::ssize(leaves.list) == kernels::kMostChartWords) break;
      leaves.list.push_back({at, leaves.list.empty() ? 0 : word});
      token = at + 1;
    }
    leaves.words = word + 1;
  }
  return leaves;
}

ParseProcessor::ParseProcessor(text::Tokenizer tokenizer, Origin origin, const TextLimits& limits,
                               int64_t max_length, const std::string& model)
    : ParseProcessor(parse_layout(), std::move(tokenizer), std::move(origin), limits, max_length,
                     model) {}

Hash128 ParseProcessor::hash() const {
  ContentHash hash;
  hash.text("words and trees");
  for (const uint64_t part : TextProcessor::hash()) hash.number(part);
  return hash.value();
}

void ParseProcessor::encode(std::span<const RawSample> raw, ThreadPool& pool,
                            std::vector<EncodedSample>& out) const {
  std::vector<RawSample> texts;  // have no trees, which are no second texts
  for (const RawSample& each : raw) texts.push_back({each.text, {}});
  TextProcessor::encode(texts, pool, out);
  pool.run(std::ssize(raw),
           [&](int64_t i, int) { mark(raw[static_cast<size_t>(i)], out[static_cast<size_t>(i)]); });
}

text::Encoding ParseProcessor::encode_text(std::string_view text) const {
  text::EncodeOptions options;
  options.truncation = tokenizer().truncation().value_or(text::Truncation{});
  options.truncation->max_length = static_cast<size_t>(max_units());
  return tokenizer().encode({text, {}}, options);
}

void ParseProcessor::mark(const RawSample& raw, EncodedSample& sample) const {
  trees::Tree tree;
  std::vector<trees::WordPlace> words;
  if (raw.pair) {
    tree = tree_of(raw);
    if (auto located = trees::locate_words(tree, raw.text)) {
      words = std::move(*located);
    } else {
      fail(ErrorKind::bad_file, "tree: its words are not those of the text {}", quote(raw.text));
    }
  } else {
    words = trees::split_words(raw.text);
  }
  const Leaves leaves = find_leaves(words, encode_text(raw.text));
  mark_tree(tree, words.size(), leaves, CutConstituents::shortened, sample);
}

Leaves ParseProcessor::leaves_of(std::string_view text,
                                 std::span<const trees::WordPlace> words) const {
  return find_leaves(words, encode_text(text));
}

void ParseProcessor::append(std::span<const std::byte> sample, int64_t number, Batch& batch) const {
  append_words(sample, number, batch, {});
}

void ParseProcessor::append_words(std::span<const std::byte> sample, int64_t number, Batch& batch,
                                  std::span<const int64_t> more) const {
  const std::vector<int32_t> leaves = leaf_tokens(sample);
  const int64_t words = std::ssize(leaves);
  const auto first = static_cast<int32_t>(batch.rows(nn::kTokens));
  std::vector<int64_t> rows = {words + 1, kernels::chart_cells(words)};
  rows.insert(rows.end(), more.begin(), more.end());
  append_with(sample, number, batch, rows);
  const auto last = static_cast<int32_t>(batch.rows(nn::kTokens)) - 1;
  const std::span<int32_t> before = batch.last<int32_t>(kBefore);
  const std::span<int32_t> behind = batch.last<int32_t>(kBehind);
  // Special tokens at the sample's ends stand before the first word and behind the last.
  before[0] = first;
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    behind[leaf] = first + leaves[leaf];
    if (leaf > 0) before[leaf] = first + leaves[leaf] - 1;
  }
  behind[leaves.size()] = last;
  before[leaves.size()] = leaves.empty() ? first : std::max(first + leaves.back(), last - 1);
  const std::span<int32_t> gold = batch.last<int32_t>(kGold);
  for (const auto& [begin, end] : marked_constituents(sample)) {
    gold[static_cast<size_t>(kernels::chart_cell(words, begin, end))] = 1;
  }
}

}  // namespace hone::data

#include "train/concept_keeper.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"
#include "data/review_trees.h"
#include "explain/concept_writer.h"
#include "explain/hubs.h"
#include "models/tree_parser.h"

namespace hone::train {
namespace {

/// Makes a tree of what a parser found; its words are the text's.
trees::Tree tree_of(std::string_view raw, models::ParsedText parsed) {
  const std::string text = replace_invalid_utf8(raw);
  std::vector<size_t> bytes;
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) bytes.push_back(at);
  bytes.push_back(text.size());
  trees::Tree tree;
  for (const trees::WordPlace& word : parsed.words) {
    tree.words.push_back(text.substr(bytes[word.begin], bytes[word.end] - bytes[word.begin]));
  }
  tree.constituents = std::move(parsed.constituents);
  return tree;
}

/// Parses the training rows' texts that have no tree, and adds their trees.
void add_parsed(const Options& options, const Corpus& corpus, ThreadPool& pool,
                data::TreeBank& bank) {
  constexpr size_t kTexts = 1024;
  models::TreeParser parser(options.explain.parser, pool, 0, {}, options.gpu);
  data::ContentHash hash;
  for (const uint64_t part : bank.hash) hash.number(part);
  std::vector<std::string> texts;
  const auto parse = [&] {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    std::vector<models::ParsedText> parsed = parser.parse(views);
    for (size_t i = 0; i < texts.size(); ++i) {
      trees::Tree tree = tree_of(texts[i], std::move(parsed[i]));
      if (tree.words.empty()) continue;
      hash.text(trees::brackets_of(tree));
      bank.index.add(std::move(tree));
    }
    texts.clear();
  };
  const auto records = corpus.training->split.open();
  data::Record record;
  for (int64_t row = 0; records->next(record); ++row) {
    if (row == options.data.max_train_samples) break;
    if (!bank.index.find(record.text)) texts.push_back(record.text);
    if (texts.size() == kTexts) parse();
  }
  parse();
  bank.hash = hash.value();
}

}  // namespace

std::shared_ptr<const data::TreeBank> open_row_trees(const Options& options, const Corpus& corpus,
                                                     ThreadPool& pool) {
  const ExplainOptions& explain = options.explain;
  if (explain.trees.empty() && explain.parser.empty()) {
    const bool reviews = corpus.task && corpus.task->layout == data::TaskLayout::reviews;
    if (reviews && options.data.train_file.empty()) {
      return data::review_trees("train", options.data.max_train_samples);
    }
    fail(ErrorKind::usage,
         "explain.trees: missing; give files of trees over the training texts, or an "
         "`explain.parser` that makes them");
  }
  const std::shared_ptr<data::TreeBank> bank = data::load_trees(explain.trees);
  if (!explain.parser.empty()) add_parsed(options, corpus, pool, *bank);
  return bank;
}

ConceptKeeper::ConceptKeeper(const Parts& parts)
    : parts_(parts),
      model_(dynamic_cast<models::Explainer&>(parts.model.model())),
      concepts_(model_.config().hidden_size, static_cast<int64_t>(model_.config().labels.size())) {
  const auto& training =
      dynamic_cast<const data::ExplainProcessor&>(parts.model.training_processor());
  collect(*training.trees());
}

void ConceptKeeper::collect(const data::TreeBank& trees) {
  const data::SampleStore& store = parts_.data.training->store;
  const int64_t words = model_.settings().concept_words;
  const auto records = parts_.corpus.training->split.open();
  data::Record record;
  std::vector<std::byte> sample;
  const int64_t stride = explain::hub_stride(store.samples());
  const int64_t unit_bytes = parts_.model.processor().unit_bytes();
  int64_t without = 0, cut = 0;
  for (int64_t row = 0; row < store.samples() && records->next(record); ++row) {
    models::add_concepts(record.text, trees, words, store.class_of(row), row, concepts_);
    without += !trees.index.find(record.text);
    store.read(row, sample);
    cut += data::ExplainProcessor::cut_phrases(sample);
    if (row % stride == 0) sentences_.push_back({sample, std::ssize(sample) / unit_bytes});
  }
  if (concepts_.size() == 0) {
    fail(ErrorKind::usage,
         "explain.trees: no row of {} has a tree with phrases of 2 to {} words; nothing could be "
         "retrieved",
         parts_.corpus.training->split.name, words);
  }
  own_ = std::make_shared<explain::RowConcepts>(concepts_);
  notes_.push_back(fmt::format("{} concepts of up to {} words", concepts_.size(), words));
  if (without > 0) {
    notes_.push_back(fmt::format("{} of {} training rows have no tree, and so no phrases", without,
                                 store.samples()));
  }
  if (cut > 0) notes_.push_back(fmt::format("{} phrases were cut, and are left out", cut));
}

void ConceptKeeper::hand_over(explain::SearchVectors vectors) {
  now_ = std::make_shared<explain::Concepts>(std::move(vectors), own_, parts_.pool);
  model_.set_concepts(now_);
}

void ConceptKeeper::encode() {
  if (!encoder_) {
    encoder_.emplace(model_, dynamic_cast<const data::ExplainProcessor&>(parts_.model.processor()),
                     parts_.pool, true);
  }
  hand_over(encoder_->encode(concepts_, sentences_));
  epoch_.reset();
}

void ConceptKeeper::begin_epoch(int64_t epoch) {
  if (epoch_ == epoch) return;
  encode();
  epoch_ = epoch;
}

data::Hash128 ConceptKeeper::copy_hash() const {
  data::ContentHash hash;
  hash.text(parts_.data.training->key);
  return hash.value();
}

std::function<void(const std::string& path)> ConceptKeeper::copy_writer() const {
  return [this, now = now_, hash = copy_hash()](const std::string& path) {
    explain::write_concept_store(path, concepts_, {.model = hash, .vectors = now->vectors()});
  };
}

void ConceptKeeper::restore(const std::string& path, int64_t epoch) {
  const explain::ConceptStore store(path);
  store.require(copy_hash(), concepts_.width(), concepts_.labels());
  if (store.size() != concepts_.size()) {
    fail(ErrorKind::bad_file, "{}: concepts: {} where the training rows have {}", path,
         store.size(), concepts_.size());
  }
  hand_over(explain::search_vectors(store));
  epoch_ = epoch;
}

void ConceptKeeper::write_store(const std::string& folder) const {
  explain::write_concept_store(folder + "/" + explain::kConceptFile, concepts_,
                               {.model = models::hash_weights(folder),
                                .dtype = parts_.options.explain.store_dtype,
                                .vectors = now_->vectors()});
}

}  // namespace hone::train

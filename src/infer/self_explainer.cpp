#include "infer/self_explainer.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/utf8.h"
#include "infer/classify.h"

namespace hone::infer {
namespace {

constexpr int64_t kMostCutCharacters = 200;

const data::ExplainProcessor& processor_of(const Session& session) {
  return dynamic_cast<const data::ExplainProcessor&>(session.processor());
}

models::Explainer* explainer_of(Session& session) {
  auto* const model = dynamic_cast<models::Explainer*>(&session.model());
  if (model) return model;
  fail(ErrorKind::usage,
       "{}: does not explain itself, as models trained with `explain` do; take another "
       "`explain.method`",
       session.folder().path);
}

}  // namespace

/// A text with its words and leaves, and the phrases over these.
struct SelfExplainer::Text {
  struct Phrase {
    int32_t begin, end;  ///< leaves
    int64_t place;       ///< among the batch's places for phrases
  };

  std::string text;           ///< valid UTF-8
  std::vector<size_t> bytes;  ///< where each code point begins, and the end
  std::vector<trees::WordPlace> words;
  data::Leaves leaves;
  const data::EncodedSample* sample;
  std::vector<Phrase> phrases = {};

  std::string cut(uint32_t begin, uint32_t end) const {
    return text.substr(bytes[begin], bytes[end] - bytes[begin]);
  }
  /// Gives the first word of a leaf; of the end, the word behind the last.
  int32_t word_of(int32_t leaf) const {
    const auto at = static_cast<size_t>(leaf);
    return static_cast<int32_t>(at < leaves.list.size() ? leaves.list[at].first : leaves.words);
  }
  int32_t leaf_at(int32_t token) const {
    const auto found = std::lower_bound(
        leaves.list.begin(), leaves.list.end(), token,
        [](const data::Leaf& leaf, int32_t at) { return static_cast<int32_t>(leaf.token) < at; });
    return static_cast<int32_t>(found - leaves.list.begin());
  }
  trees::Tree tree() const;
};

trees::Tree SelfExplainer::Text::tree() const {
  trees::Tree tree;
  for (const trees::WordPlace& word : words) tree.words.push_back(cut(word.begin, word.end));
  for (const Phrase& phrase : phrases) {
    tree.constituents.push_back({word_of(phrase.begin), word_of(phrase.end), {}});
  }
  if (words.size() >= 2) tree.constituents.push_back({0, static_cast<int32_t>(words.size()), {}});
  trees::sort_constituents(tree.constituents);
  const auto end = std::unique(tree.constituents.begin(), tree.constituents.end());
  tree.constituents.erase(end, tree.constituents.end());
  return tree;
}

/// All that a pass gave for its batch, on the host. The batch's sizes say where each value lies.
class SelfExplainer::Outputs {
 public:
  Outputs(const models::Pass& pass, Runner& runner, const Extents& batch) {
    const Extents extents = pass.plan->complete(batch);
    std::vector<Value> values = {pass.output};
    for (const models::NamedValue& each : pass.outputs) values.push_back(each.value);
    size_t at = 0;
    for (const Value& value : values) {
      places_.emplace(value.id, at);
      const auto elements = static_cast<size_t>(extents[value.rows] * value.width);
      at += elements * dtype_size(value.dtype);
    }
    fetched_ = runner.fetch(values);
    data_ = fetched_->data();
  }
  template <typename T>
  const T* of(Value value) const {
    return reinterpret_cast<const T*>(data_ + places_.at(value.id));
  }

 private:
  std::map<int32_t, size_t> places_;
  std::shared_ptr<Fetched> fetched_;
  const std::byte* data_;
};

/// What a pass gave for one text of its batch, and where.
struct SelfExplainer::Values {
  const models::Pass& pass;
  const Outputs& outputs;
  int64_t text;

  std::span<const float> logits() const {
    const auto width = static_cast<size_t>(pass.output.width);
    return {outputs.of<float>(pass.output) + static_cast<size_t>(text) * width, width};
  }
  template <typename T>
  const T* all(const char* name) const {
    return outputs.of<T>(models::explained::value(pass, name));
  }
  const float* row(const char* name) const { return all<float>(name) + text * pass.output.width; }
};

SelfExplainer::SelfExplainer(const std::string& model, const SessionOptions& session,
                             const SelfExplainerOptions& options)
    : options_(options),
      session_(model, session),
      model_(explainer_of(session_)),
      processor_(processor_of(session_)),
      pass_(model_->record_explained()),
      runner_(std::make_unique<Runner>(pass_.plan, model_->weights_for(pass_.shadows),
                                       session_.pool(),
                                       Runner::Options{.planned = session.planned})) {}

SelfExplainer::Text SelfExplainer::text_of(std::string_view raw,
                                           const data::EncodedSample& sample) const {
  Text text{replace_invalid_utf8(raw), {}, {}, {}, &sample};
  for (size_t at = 0; at < text.text.size(); at += decode_utf8(text.text, at).size) {
    text.bytes.push_back(at);
  }
  text.bytes.push_back(text.text.size());
  text.words = trees::split_words(text.text);
  text.leaves = processor_.leaves_of(text.text, text.words);
  return text;
}

template <typename Take>
void SelfExplainer::run(std::span<const std::string_view> texts, const Take& take) {
  std::vector<Input> inputs;
  for (const std::string_view text : texts) inputs.push_back({text, {}});
  const std::vector<data::EncodedSample>& samples = session_.encode(inputs);
  data::Batch batch(processor_.layout());
  for (size_t first = 0; first < texts.size();) {
    batch.clear();
    size_t end = first;
    for (; end < texts.size(); ++end) {
      if (end > first && batch.units + samples[end].units > session_.pass_units()) break;
      processor_.append(samples[end].bytes, 0, batch);
    }
    runner_->resize(batch.extents());
    pass_.bind(batch, *runner_);
    runner_->run();
    const Outputs outputs(pass_, *runner_, batch.extents());
    const size_t begin = first;
    for (; first < end; ++first) {
      const auto number = static_cast<int64_t>(first - begin);
      const Values values{pass_, outputs, number};
      Text text = text_of(texts[first], samples[first]);
      const auto* spans = values.all<int32_t>(models::explained::kSpans);
      const auto token = static_cast<int32_t>(batch.first(nn::kTokens, number));
      for (int64_t place = batch.first(data::kPhrases, number);
           place < batch.first(data::kPhrases, number + 1); ++place) {
        const int32_t* span = spans + 2 * place;
        if (span[0] == span[1]) continue;
        text.phrases.push_back(
            {text.leaf_at(span[0] - token), text.leaf_at(span[1] - token), place});
      }
      take(std::move(text), values);
    }
  }
}

std::vector<trees::Tree> SelfExplainer::trees(std::span<const std::string_view> texts) {
  std::vector<trees::Tree> trees;
  run(texts, [&](const Text& text, const Values&) { trees.push_back(text.tree()); });
  return trees;
}

std::vector<float> SelfExplainer::sentences(std::span<const std::string_view> texts) {
  std::vector<float> rows;
  const int64_t width = models::explained::value(pass_, models::explained::kSentence).width;
  run(texts, [&](const Text&, const Values& values) {
    const float* row = values.all<float>(models::explained::kSentence) + values.text * width;
    rows.insert(rows.end(), row, row + width);
  });
  return rows;
}

std::vector<explain::Explanation> SelfExplainer::explain(std::span<const std::string_view> raw) {
  std::vector<explain::Explanation> explanations;
  std::vector<Text> texts;
  run(raw, [&](Text text, const Values& values) {
    explanations.push_back(explanation_of(text, values));
    texts.push_back(std::move(text));
  });
  if (options_.ablate > 0) ablate(texts, explanations);
  for (explain::Explanation& each : explanations) {
    std::stable_sort(
        each.phrases.begin(), each.phrases.end(),
        [](const explain::Phrase& a, const explain::Phrase& b) { return a.share > b.share; });
    const auto most = static_cast<size_t>(options_.phrases);
    if (options_.phrases >= 0 && each.phrases.size() > most) each.phrases.resize(most);
  }
  return explanations;
}

explain::Explanation SelfExplainer::explanation_of(const Text& text, const Values& values) const {
  const Prediction prediction = classify(config(), values.logits());
  const auto& scores = prediction.scores;
  explain::Explanation out;
  out.text = text.text;
  out.label = prediction.label;
  out.score = double{prediction.score};
  for (size_t i = 0; i < scores.size(); ++i) {
    out.scores.emplace_back(config().labels[i], double{scores[i]});
  }
  out.tokens = text.sample->units;
  out.truncated = text.sample->truncated();
  if (out.truncated) out.original_tokens = text.sample->full;
  const models::ExplainSettings& settings = model_->settings();
  const auto logits = values.logits();
  const auto answer = std::max_element(logits.begin(), logits.end()) - logits.begin();
  const auto part = [&](const char* name) { return double{values.row(name)[answer]}; };
  out.shares = {part(models::explained::kLabelLogits),
                settings.local_weight * part(models::explained::kLocalLogits),
                settings.global_weight * part(models::explained::kGlobalLogits)};
  add_phrases(text, values, out);
  add_concepts(values, out);
  if (text.words.size() >= 2) out.tree = trees::brackets_of(text.tree());
  if (text.leaves.words < text.words.size()) {
    const uint32_t begin = text.words[text.leaves.words].begin;
    const uint32_t end = std::min<uint32_t>(text.words.back().end, begin + kMostCutCharacters);
    out.cut.push_back(text.cut(begin, end));
  }
  return out;
}

void SelfExplainer::add_phrases(const Text& text, const Values& values,
                                explain::Explanation& out) const {
  const auto logits = values.logits();
  const auto answer = std::max_element(logits.begin(), logits.end()) - logits.begin();
  const auto* all = values.all<float>(models::explained::kPhraseLogits);
  const int64_t width = values.pass.output.width;
  const double weight = model_->settings().local_weight /
                        static_cast<double>(std::max<size_t>(1, text.phrases.size()));
  for (const Text::Phrase& each : text.phrases) {
    explain::Phrase phrase;
    const auto first = static_cast<size_t>(text.word_of(each.begin));
    const auto last = static_cast<size_t>(text.word_of(each.end)) - 1;
    phrase.start = text.words[first].begin;
    phrase.end = text.words[last].end;
    phrase.text = text.cut(text.words[first].begin, text.words[last].end);
    const float* own = all + each.place * width;
    phrase.share = weight * double{own[answer]};
    phrase.label = config().labels[static_cast<size_t>(std::max_element(own, own + width) - own)];
    out.phrases.push_back(std::move(phrase));
  }
}

void SelfExplainer::add_concepts(const Values& values, explain::Explanation& out) const {
  const explain::Concepts* concepts = model_->concepts();
  if (!concepts || !concepts->store()) return;
  const explain::ConceptStore& store = *concepts->store();
  const auto logits = values.logits();
  const auto answer = std::max_element(logits.begin(), logits.end()) - logits.begin();
  const int64_t k = model_->settings().neighbours;
  const int64_t most = options_.concepts < 0 ? k : std::min(k, options_.concepts);
  const auto* found = values.all<int32_t>(models::explained::kFound) + values.text * k;
  const auto* similarity = values.all<float>(models::explained::kSimilarity) + values.text * k;
  const int64_t width = values.pass.output.width;
  const auto* given =
      values.all<float>(models::explained::kConceptLogits) + values.text * k * width;
  for (int64_t i = 0; i < most && found[i] >= 0; ++i) {
    explain::Concept each;
    each.text = store.text(found[i]);
    each.share = model_->settings().global_weight * double{given[i * width + answer]};
    each.similarity = double{similarity[i]};
    const auto counts = store.label_counts(found[i]);
    for (size_t label = 0; label < counts.size(); ++label) {
      if (counts[label] > 0) each.labels.emplace_back(config().labels[label], counts[label]);
    }
    const auto rows = store.source_rows(found[i]);
    if (!rows.empty()) each.row = rows.front();
    out.concepts.push_back(std::move(each));
  }
}

void SelfExplainer::ablate(std::span<const Text> texts,
                           std::vector<explain::Explanation>& explanations) {
  struct Ablated {
    size_t text;
    size_t phrase;
  };
  std::vector<Ablated> ablated;
  std::vector<data::EncodedSample> samples;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<size_t> order(explanations[i].phrases.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return explanations[i].phrases[a].share > explanations[i].phrases[b].share;
    });
    order.resize(std::min(order.size(), static_cast<size_t>(options_.ablate)));
    for (const size_t phrase : order) {
      const Text::Phrase& leaves = texts[i].phrases[phrase];
      data::EncodedSample& sample = samples.emplace_back();
      sample.bytes = data::without_leaves(texts[i].sample->bytes, leaves.begin, leaves.end);
      sample.units = sample.full =
          static_cast<int64_t>(sample.bytes.size()) / processor_.unit_bytes();
      ablated.push_back({i, phrase});
    }
  }
  const std::vector<Answer> answers = session_.answer(samples);
  for (size_t i = 0; i < answers.size(); ++i) {
    explain::Explanation& whole = explanations[ablated[i].text];
    explain::Phrase& phrase = whole.phrases[ablated[i].phrase];
    const Prediction without = classify(config(), answers[i].values);
    const std::vector<std::string>& labels = config().labels;
    const auto answer = std::find(labels.begin(), labels.end(), whole.label) - labels.begin();
    phrase.ablated_score = double{without.scores[static_cast<size_t>(answer)]};
    phrase.flips = without.label != whole.label;
  }
}

}  // namespace hone::infer

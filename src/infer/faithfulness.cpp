#include "infer/faithfulness.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "explain/hubs.h"
#include "infer/classify.h"
#include "infer/deletions.h"
#include "infer/line_answers.h"

namespace hone::infer {
namespace {

constexpr size_t kTextsAtATime = 64;
constexpr std::array<size_t, 5> kPercents = {1, 5, 10, 20, 50};
constexpr int64_t kNearest = 5;
constexpr uint64_t kRankingKey = 0x72616e6b;
constexpr int64_t kAllPhrases = int64_t{1} << 20;

/// What deletions showed of one way to rank phrases, summed over texts.
struct Sums {
  double comprehensiveness = 0;
  double sufficiency = 0;
  int64_t flips = 0;
};

/// An edited text, and what its answer counts for.
struct Edit {
  enum class Kind : uint8_t { without_first, first_alone, without_best };
  size_t text;
  size_t ranking;
  Kind kind;
  std::string edited;
};

/// The figures of concepts that are shown again and again.
class ConceptCounts {
 public:
  ConceptCounts(const explain::ConceptStore& store, ThreadPool& pool)
      : store_(store),
        pool_(pool),
        raw_(raw_vectors(store)),
        corrected_(store.rows(), explain::Scan::exact, pool),
        uncorrected_(without_biases(store.rows()), explain::Scan::exact, pool),
        by_products_(raw_.rows(), explain::Scan::exact, pool) {}

  /// Takes sentences' vectors [count, width].
  void add(const std::vector<float>& sentences) {
    const int64_t width = store_.width(), count = std::ssize(sentences) / width;
    std::vector<float> queries(sentences.size());
    for (int64_t i = 0; i < count; ++i) {
      store_.prepare_query(sentences.data() + i * width, queries.data() + i * width);
    }
    search(corrected_, queries, count, found_[0]);
    search(uncorrected_, queries, count, found_[1]);
    search(by_products_, sentences, count, found_[2]);
  }
  void write(std::vector<std::pair<std::string, double>>& metrics) const {
    constexpr std::array<const char*, 3> kNames = {
        "commonest_concept", "commonest_concept_uncorrected", "commonest_concept_raw"};
    for (size_t i = 0; i < kNames.size(); ++i) {
      metrics.emplace_back(kNames[i], explain::commonest_share(found_[i], kNearest));
    }
  }

 private:
  static explain::ConceptRows without_biases(explain::ConceptRows rows) {
    rows.biases = nullptr;
    return rows;
  }
  static explain::SearchVectors raw_vectors(const explain::ConceptStore& store) {
    explain::SearchVectors raw = explain::search_vectors(store);
    const int64_t stride = explain::row_stride(DType::f32, store.width());
    for (int64_t i = 0; i < store.size(); ++i) {
      store.model_vector(i, raw.data.as<float>() + i * stride);
    }
    raw.biases.clear();
    return raw;
  }
  void search(const explain::TopK& search, const std::vector<float>& queries, int64_t count,
              std::vector<explain::Neighbour>& all) {
    std::vector<explain::Neighbour> found;
    search.search(queries.data(), count, kNearest, {}, pool_, found);
    all.insert(all.end(), found.begin(), found.end());
  }

  const explain::ConceptStore& store_;
  ThreadPool& pool_;
  explain::SearchVectors raw_;
  explain::TopK corrected_, uncorrected_, by_products_;
  std::array<std::vector<explain::Neighbour>, 3> found_;
};

/// Gives the model's label that a constituent's label means; nothing for a neutral or unknown one.
std::optional<std::string> meant_label(const std::string& label,
                                       const std::vector<std::string>& labels) {
  if (std::find(labels.begin(), labels.end(), label) != labels.end()) return label;
  constexpr size_t kSentiments = 5, kNeutral = 2;
  size_t number = 0;
  const char* end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data(), end, number);
  if (error != std::errc() || stop != end || number >= kSentiments) return {};
  if (labels.size() == kSentiments) return labels[number];
  if (labels.size() != 2 || number == kNeutral) return {};
  return labels[number > kNeutral ? 1 : 0];
}

class Measuring {
 public:
  Measuring(SelfExplainer& explainer, const FaithfulnessOptions& options)
      : explainer_(explainer), options_(options) {
    const explain::Concepts* concepts = explainer.model().concepts();
    if (concepts && concepts->store()) {
      counts_.emplace(*concepts->store(), explainer.session().pool());
    }
    explainer.set_options({.ablate = options.by_ablation ? kAllPhrases : 0});
  }

  void take(std::span<const data::Record> records) {
    std::vector<std::string_view> texts;
    for (const data::Record& record : records) texts.push_back(record.text);
    const std::vector<explain::Explanation> explanations = explainer_.explain(texts);
    if (counts_) counts_->add(explainer_.sentences(texts));
    std::vector<Edit> edits;
    for (size_t i = 0; i < explanations.size(); ++i) {
      compare_labels(explanations[i]);
      if (!explanations[i].phrases.empty()) add_edits(explanations[i], i, edits);
      ++seen_;
    }
    std::vector<Input> inputs;
    for (const Edit& edit : edits) inputs.push_back({edit.edited, {}});
    const std::vector<Answer> answers = explainer_.session().run(inputs);
    for (size_t i = 0; i < edits.size(); ++i) {
      count(edits[i], explanations[edits[i].text], answers[i]);
    }
  }

  Faithfulness finish() const {
    Faithfulness out;
    out.texts = measured_;
    const auto add = [&](const std::string& name, double sum, size_t times) {
      const double count = static_cast<double>(measured_) * static_cast<double>(times);
      if (measured_ > 0) out.metrics.emplace_back(name, sum / count);
    };
    for (size_t i = 0; i < sums_.size(); ++i) {
      const std::string end = i == 0 ? "" : "_random";
      add("comprehensiveness" + end, sums_[i].comprehensiveness, kPercents.size());
      add("sufficiency" + end, sums_[i].sufficiency, kPercents.size());
      add("flip_rate" + end, static_cast<double>(sums_[i].flips), 1);
    }
    if (labelled_ > 0) {
      out.metrics.emplace_back("phrase_agreement",
                               static_cast<double>(agreed_) / static_cast<double>(labelled_));
    }
    if (counts_) counts_->write(out.metrics);
    return out;
  }

 private:
  /// Gives what the phrases rank by: what the model says of them, or random numbers.
  std::vector<double> values_of(const explain::Explanation& explanation, size_t ranking) const {
    std::vector<double> values;
    for (const explain::Phrase& phrase : explanation.phrases) {
      const auto place = static_cast<uint64_t>(values.size());
      values.push_back(ranking == 1           ? double{uniform(philox(
                                                    kRankingKey, static_cast<uint64_t>(seen_), place)[0])}
                       : options_.by_ablation ? explanation.score - phrase.ablated_score.value_or(0)
                                              : phrase.share);
    }
    return values;
  }

  void add_edits(const explain::Explanation& explanation, size_t text, std::vector<Edit>& edits) {
    const DeletableText words(explanation.text);
    ++measured_;
    for (size_t ranking = 0; ranking < sums_.size(); ++ranking) {
      const std::vector<double> values = values_of(explanation, ranking);
      const std::vector<size_t> order = words.ranked(explanation.phrases, values);
      for (const size_t percent : kPercents) {
        const size_t first = (percent * words.size() + 99) / 100;
        std::vector<bool> alone(words.size());
        for (size_t i = 0; i < first; ++i) alone[order[i]] = true;
        edits.push_back({text, ranking, Edit::Kind::first_alone, words.kept(alone)});
        alone.flip();
        edits.push_back({text, ranking, Edit::Kind::without_first, words.kept(alone)});
      }
      const auto best = std::max_element(values.begin(), values.end()) - values.begin();
      std::vector<bool> rest = words.words_of(explanation.phrases[static_cast<size_t>(best)]);
      rest.flip();
      edits.push_back({text, ranking, Edit::Kind::without_best, words.kept(rest)});
    }
  }

  void count(const Edit& edit, const explain::Explanation& whole, const Answer& answer) {
    const Prediction found = classify(explainer_.config(), answer.values);
    Sums& sums = sums_[edit.ranking];
    if (edit.kind == Edit::Kind::without_best) {
      sums.flips += found.label != whole.label ? 1 : 0;
      return;
    }
    const std::vector<std::string>& labels = explainer_.config().labels;
    const auto at = std::find(labels.begin(), labels.end(), whole.label) - labels.begin();
    const double lost = whole.score - double{found.scores[static_cast<size_t>(at)]};
    (edit.kind == Edit::Kind::without_first ? sums.comprehensiveness : sums.sufficiency) += lost;
  }

  void compare_labels(const explain::Explanation& explanation) {
    if (!options_.trees) return;
    const std::optional<trees::Tree> tree = options_.trees->index.find(explanation.text);
    const auto places = tree ? trees::locate_words(*tree, explanation.text) : std::nullopt;
    if (!places) return;
    std::map<std::pair<int64_t, int64_t>, std::string> meant;
    for (const trees::Constituent& each : tree->constituents) {
      const auto label = meant_label(each.label, explainer_.config().labels);
      const int64_t begin = (*places)[static_cast<size_t>(each.begin)].begin;
      const int64_t end = (*places)[static_cast<size_t>(each.end) - 1].end;
      if (label) meant.emplace(std::pair(begin, end), *label);
    }
    for (const explain::Phrase& phrase : explanation.phrases) {
      const auto found = meant.find({phrase.start, phrase.end});
      if (found == meant.end()) continue;
      ++labelled_;
      agreed_ += found->second == phrase.label ? 1 : 0;
    }
  }

  SelfExplainer& explainer_;
  const FaithfulnessOptions& options_;
  std::optional<ConceptCounts> counts_;
  std::array<Sums, 2> sums_ = {};  ///< by the model's ranking, and by a random one
  int64_t seen_ = 0, measured_ = 0;
  int64_t labelled_ = 0, agreed_ = 0;
};

}  // namespace

Faithfulness measure_faithfulness(SelfExplainer& explainer, data::RecordStream& records,
                                  const FaithfulnessOptions& options) {
  Measuring measuring(explainer, options);
  BatchReader reader(records, kTextsAtATime);
  int64_t left = options.max_samples < 0 ? INT64_MAX : options.max_samples;
  for (auto batch = reader.next(); !batch.empty() && left > 0; batch = reader.next()) {
    for (const data::Record& record : batch) {
      if (!record.pair) continue;
      fail(ErrorKind::bad_file, "{}: a pair of texts; a self-explaining model reads one",
           records.where(record));
    }
    const auto some = std::min(batch.size(), static_cast<size_t>(left));
    measuring.take(batch.first(some));
    left -= static_cast<int64_t>(some);
  }
  return measuring.finish();
}

}  // namespace hone::infer

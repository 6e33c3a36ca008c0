#include "train/run.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "cli/answering.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/train_display.h"
#include "cli/train_options.h"
#include "train/corpus.h"
#include "train/exit_stages.h"
#include "train/results.h"

namespace hone::cli {
namespace {

/// Labels the test set with the model that was written.
void predict_test(const CommonOptions& common, const train::Options& options) {
  const train::Corpus corpus = train::open_corpus(options);
  AnsweringOptions answering;
  answering.model = options.train ? options.output : options.model.model;
  answering.output = options.output + "/predict_results.jsonl";
  answering.max_length = options.model.max_length;
  const auto records = corpus.prediction->split.open();
  answer_records(common, answering, {}, *records, write_prediction(false));
}

/// Mean and standard deviation over seeds.
struct Spread {
  std::vector<double> values;
  double mean() const {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  double deviation() const {
    if (values.size() < 2) return 0;
    double sum = 0;
    for (const double value : values) sum += (value - mean()) * (value - mean());
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
  }
};

/// What several seeds gave, by name, as text or JSON; also written beside their folders.
std::string compare_seeds(const std::string& output, const std::vector<uint64_t>& seeds,
                          const std::vector<train::Summary>& summaries, bool json) {
  std::map<std::string, Spread> spreads;
  for (const train::Summary& summary : summaries) {
    for (const auto& [name, value] : summary.evaluation) spreads[name].values.push_back(value);
    spreads["train_runtime"].values.push_back(summary.train_seconds);
  }
  Json all = {{"seeds", seeds}};
  std::string text = fmt::format("{} seeds:\n", seeds.size());
  for (const auto& [name, spread] : spreads) {
    all[name] = {{"mean", spread.mean()}, {"std", spread.deviation()}, {"values", spread.values}};
    text += fmt::format("  {:<26}{:.4f} +- {:.4f}\n", name, spread.mean(), spread.deviation());
  }
  write_json(output + "/all_results.json", all);
  return json ? json_line(all) : text;
}

int interrupted(const train::Summary& summary) {
  fmt::print(stderr, "hone: interrupted; go on from {}\n", summary.last_checkpoint);
  return kInterrupted;
}

}  // namespace

int train(const Words& words) {
  Arguments arguments(
      "train", "Fine-tunes a classifier, or trains one from nothing. --help-all shows more.");
  TrainOptions parsed;
  parsed.declare(arguments);
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  const CommonOptions& common = arguments.common();
  train::Options options = parsed.resolve(common);
  const std::string output = options.output;
  const GracefulStop stop;
  std::vector<train::Summary> summaries;
  for (const uint64_t seed : parsed.seeds()) {
    options.seed = seed;
    if (parsed.seeds().size() > 1) {
      options.output = fmt::format("{}/seed-{}", output, seed);
      options.tokens = output + "/tokens";
    }
    train::Summary last;
    for (const train::Options& stage : train::exit_stages(options)) {
      TrainDisplay display(common.quiet, [&] { return stop.requested(); });
      last = train::run(stage, display);
      if (last.interrupted) return interrupted(last);
    }
    summaries.push_back(std::move(last));
    const train::Summary& summary = summaries.back();
    if (options.predict) predict_test(common, options);
    print(common.json ? json_line(train::to_json(summary)) : text_of(summary));
  }
  if (summaries.size() > 1) {
    print(compare_seeds(output, parsed.seeds(), summaries, common.json));
  }
  return kDone;
}

}  // namespace hone::cli

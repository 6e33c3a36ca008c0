#include "cli/train_runs.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "cli/answering.h"
#include "train/corpus.h"
#include "train/exit_stages.h"

namespace hone::cli {
namespace {

/// Labels the test set with the model that was written.
void predict_test(const CommonOptions& common, const train::Options& options) {
  const train::Corpus corpus = train::open_corpus(options);
  AnsweringOptions answering;
  answering.model = options.train ? options.output : options.model.model;
  answering.output = options.output + "/predict_results.jsonl";
  answering.max_length = options.model.max_length;
  answering.no_plan = !options.planned;
  const auto records = corpus.prediction->split.open();
  answer_records(common, answering, {}, *records, write_prediction(false));
}

train::Summary run_stages(const train::Options& options, const TrainRuns& runs) {
  train::Summary last;
  for (const train::Options& stage : train::exit_stages(options)) {
    const auto observer = runs.observe();
    last = runs.ranks ? train::run(stage, *observer, *runs.ranks) : train::run(stage, *observer);
    if (last.interrupted) break;
  }
  return last;
}

}  // namespace

double Spread::mean() const {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Spread::deviation() const {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const double value : values) sum += (value - mean()) * (value - mean());
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::vector<train::Summary> run_training(const CommonOptions& common, train::Options options,
                                         const std::vector<uint64_t>& seeds,
                                         const TrainRuns& runs) {
  const std::string output = options.output;
  std::vector<train::Summary> summaries;
  for (const uint64_t seed : seeds) {
    options.seed = seed;
    if (seeds.size() > 1) {
      options.output = fmt::format("{}/seed-{}", output, seed);
      options.tokens = output + "/tokens";
    }
    summaries.push_back(run_stages(options, runs));
    if (summaries.back().interrupted) return summaries;
    if (!runs.first_rank()) continue;
    if (options.predict) predict_test(common, options);
    if (runs.done) runs.done(summaries.back());
  }
  if (seeds.size() > 1 && runs.first_rank()) {
    write_json(output + "/all_results.json", seeds_json(seeds, spreads_of(summaries)));
  }
  return summaries;
}

Spreads spreads_of(const std::vector<train::Summary>& summaries) {
  std::map<std::string, Spread> spreads;
  for (const train::Summary& summary : summaries) {
    for (const auto& [name, value] : summary.evaluation) spreads[name].values.push_back(value);
    spreads["train_runtime"].values.push_back(summary.train_seconds);
  }
  return {spreads.begin(), spreads.end()};
}

Json seeds_json(const std::vector<uint64_t>& seeds, const Spreads& spreads) {
  Json all = {{"seeds", seeds}};
  for (const auto& [name, spread] : spreads) {
    all[name] = {{"mean", spread.mean()}, {"std", spread.deviation()}, {"values", spread.values}};
  }
  return all;
}

}  // namespace hone::cli

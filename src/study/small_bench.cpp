#include "study/small_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "device/memory.h"
#include "study/bench_models.h"

namespace hone::study {
namespace {

/// Gives milliseconds of texts that are answered one at a time, sorted. Short data is gone through
/// several times.
std::vector<double> time_alone(infer::Session& session, const SmallOptions& options) {
  const auto records = options.open();
  std::vector<data::Record> texts;
  for (data::Record record; std::ssize(texts) < options.timed && records->next(record);) {
    texts.push_back(record);
  }
  std::vector<double> times;
  for (size_t i = 0; std::ssize(times) < options.timed; ++i) {
    const data::Record& record = texts[i % texts.size()];
    const infer::Input input{record.text, record.pair};
    const Stopwatch watch;
    session.run({&input, 1});
    times.push_back(1e3 * watch.seconds());
  }
  std::sort(times.begin(), times.end());
  return times;
}

/// Adds up the time of steps by layer: what is before the first counts with it, what is behind the
/// last with that.
class LayerTimes : public RunSink {
 public:
  explicit LayerTimes(int64_t depth) : seconds_(static_cast<size_t>(depth)) {}
  void on_step(const StepEvent& event) override {
    constexpr std::string_view kLayer = "layer ";
    const std::string& scope = event.step.scope;
    if (scope.starts_with(kLayer)) {
      layer_ = std::stoul(scope.substr(kLayer.size()));
    } else if (scope == "embeddings") {
      layer_ = 0;
    }
    seconds_.at(layer_) += event.seconds;
  }
  std::vector<double> milliseconds(int64_t texts) const {
    std::vector<double> ms;
    for (const double seconds : seconds_) ms.push_back(1e3 * seconds / static_cast<double>(texts));
    return ms;
  }

 private:
  std::vector<double> seconds_;
  size_t layer_ = 0;
};

}  // namespace

std::string SmallVariant::name() const {
  std::string text(dtype_name(dtype));
  if (exits) text += "+exits";
  if (budget > 0) text += fmt::format("+{}MB", static_cast<double>(budget) / 1e6);
  return text;
}

SmallResult measure_small(const std::string& model, const SmallVariant& variant,
                          const SmallOptions& options) {
  infer::SessionOptions opening;
  opening.dtype = variant.dtype;
  opening.threads = options.threads;
  opening.max_length = options.max_length;
  opening.exits = variant.exits;
  opening.memory_budget = variant.budget;
  infer::Session session(model, opening);
  if (variant.exits && !session.exits()) {
    fail(ErrorKind::usage, "{}: has no early exits; training with `model.exits` gives it some",
         session.folder().path);
  }
  SmallResult result{.variant = variant};
  const bool one_label = session.config().problem == ProblemType::single_label;
  infer::EvaluateOptions how = options.evaluate;
  how.batch_size = 32;
  how.answered = [&](const infer::Answer& answer) {
    const auto best = std::max_element(answer.values.begin(), answer.values.end());
    if (one_label) result.labels.push_back(best - answer.values.begin());
  };
  const auto records = options.open();
  const infer::EvaluationResult evaluation = infer::evaluate(session, *records, how);
  if (evaluation.samples == 0) fail(ErrorKind::bad_file, "the data has no samples");
  result.samples = evaluation.samples;
  result.metric = evaluation.metrics.front().first;
  result.score = evaluation.metrics.front().second;
  result.layers = variant.exits ? evaluation.layers : static_cast<double>(session.config().depth());
  result.per_second = static_cast<double>(evaluation.samples) / evaluation.seconds;
  const std::vector<double> alone = time_alone(session, options);
  result.p50_ms = at_share(alone, 0.5);
  result.p99_ms = at_share(alone, 0.99);
  if (!variant.exits && variant.budget == 0) {
    LayerTimes layers(session.config().depth());
    session.set_sink(&layers);
    const auto timed = static_cast<int64_t>(time_alone(session, options).size());
    session.set_sink(nullptr);
    result.layer_ms = layers.milliseconds(timed);
  }
  result.model_bytes = session.model().parameters().bytes();
  result.peak_bytes = peak_resident_bytes();
  return result;
}

Json to_json(const SmallResult& result) {
  if (!result.refused.empty()) {
    return {{"variant", result.variant.name()}, {"refused", result.refused}};
  }
  return {{"variant", result.variant.name()},
          {"model_bytes", result.model_bytes},
          {"peak_rss_bytes", result.peak_bytes},
          {"p50_ms", result.p50_ms},
          {"p99_ms", result.p99_ms},
          {"samples_per_second", result.per_second},
          {"metric", result.metric},
          {"score", result.score},
          {"samples", result.samples},
          {"mean_layers", result.layers},
          {"labels", result.labels},
          {"layer_ms", result.layer_ms}};
}

SmallResult small_result(const SmallVariant& variant, const Json& json) {
  SmallResult result{.variant = variant};
  json.at("model_bytes").get_to(result.model_bytes);
  json.at("peak_rss_bytes").get_to(result.peak_bytes);
  json.at("p50_ms").get_to(result.p50_ms);
  json.at("p99_ms").get_to(result.p99_ms);
  json.at("samples_per_second").get_to(result.per_second);
  json.at("metric").get_to(result.metric);
  // A metric that the data leaves undefined is null.
  result.score = json.at("score").is_null() ? std::nan("") : json.at("score").get<double>();
  json.at("samples").get_to(result.samples);
  json.at("mean_layers").get_to(result.layers);
  json.at("labels").get_to(result.labels);
  json.at("layer_ms").get_to(result.layer_ms);
  return result;
}

}  // namespace hone::study

#include "study/readings.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "report/json_lines_file.h"

namespace hone::study {
namespace {

/// Gives the path that a word stands for in one run.
std::string path_in(std::string_view word, const RunOutputs& outputs) {
  return filled({std::string(word)}, outputs.folder, 0).front();
}

Json read_object(const std::string& path) {
  Json json = parse_json(read_file(path), path);
  if (!json.is_object()) fail(ErrorKind::bad_file, "{}: is no object", path);
  return json;
}

void take(const Json& from, const char* name, const char* as, Json& metrics) {
  const auto found = from.find(name);
  if (found != from.end() && found->is_number()) metrics[as] = *found;
}

/// Takes the first metric that an evaluation gave, whatever its name.
void take_metric(const Json& results, Json& metrics) {
  constexpr std::array kNames = {"matthews_correlation", "pearson", "accuracy", "f1"};
  for (const char* name : kNames) {
    const std::string logged = std::string("eval_") + name;
    if (!results.contains(logged)) continue;
    take(results, logged.c_str(), "metric", metrics);
    break;
  }
  take(results, "eval_f1", "f1", metrics);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? NAN : sum / static_cast<double>(values.size());
}

/// Reads what log lines say of the machine, and the loss.
void read_log(const std::string& path, const StudySettings& settings, Readings& readings) {
  std::vector<double> epochs, seconds, losses, busy, cores;
  double device_bytes = 0;
  for (const Json& line : report::read_json_lines(path)) {
    const auto number = [&](const char* name) {
      const auto found = line.find(name);
      return found != line.end() && found->is_number() ? found->get<double>() : NAN;
    };
    if (std::isfinite(number("device_busy"))) busy.push_back(number("device_busy"));
    if (std::isfinite(number("busy_cores"))) cores.push_back(number("busy_cores"));
    if (std::isfinite(number("device_bytes"))) {
      device_bytes = std::max(device_bytes, number("device_bytes"));
    }
    if (!line.contains("loss")) continue;
    epochs.push_back(number("epoch"));
    seconds.push_back(number("seconds"));
    losses.push_back(number("loss"));
  }
  if (!losses.empty()) {
    readings.curves = {{"epoch", epochs}, {"seconds", seconds}, {"loss", losses}};
  }
  if (!busy.empty()) readings.metrics["device_busy"] = mean_of(busy);
  if (!cores.empty()) readings.metrics["busy_cores"] = mean_of(cores);
  if (device_bytes > 0) readings.metrics["device_bytes"] = device_bytes;
  if (settings.target_loss <= 0) return;
  const double reached = time_to_loss(seconds, losses, settings.target_loss);
  if (std::isfinite(reached)) readings.metrics["seconds_to_loss"] = reached;
}

}  // namespace

double time_to_loss(const std::vector<double>& seconds, const std::vector<double>& losses,
                    double target) {
  constexpr size_t kWindow = 5;
  for (size_t i = 0; i < losses.size() && i < seconds.size(); ++i) {
    const size_t begin = i + 1 >= kWindow ? i + 1 - kWindow : 0;
    double sum = 0;
    for (size_t j = begin; j <= i; ++j) sum += losses[j];
    if (sum / static_cast<double>(i + 1 - begin) <= target) return seconds[i];
  }
  return NAN;
}

void read_training(const RunOutputs& outputs, const StudySettings& settings, Readings& readings) {
  const std::string folder = path_in(kTrained, outputs);
  const Json results = read_object(folder + "/all_results.json");
  Json& metrics = readings.metrics;
  take(results, "train_runtime", "seconds", metrics);
  take(results, "train_samples_per_second", "samples_per_second", metrics);
  take(results, "train_loss", "train_loss", metrics);
  take(results, "train_samples", "samples", metrics);
  take(results, "waiting_share", "waiting_share", metrics);
  take(results, "eval_loss", "eval_loss", metrics);
  take_metric(results, metrics);
  const double seconds = results.value("train_runtime", 0.0);
  const double steps = results.value("train_steps", 0.0);
  const double epochs = results.value("epoch", 0.0);
  if (steps > 0) metrics["step_ms"] = 1e3 * seconds / steps;
  if (epochs > 0) metrics["epoch_seconds"] = seconds / epochs;
  metrics["run_seconds"] = outputs.seconds;
  const Json memory = results.value("memory_bytes", Json::object());
  take(memory, "activations", "activation_bytes", metrics);
  take(memory, "peak_resident", "peak_bytes", metrics);
  double bytes = 0;
  for (const char* kind : {"weights", "gradients", "optimizer", "activations"}) {
    bytes += memory.value(kind, 0.0);
  }
  metrics["memory_bytes"] = bytes;
  const Json communication = results.value("communication", Json::object());
  if (steps > 0 && communication.contains("busy_seconds")) {
    metrics["exposed_ms"] = 1e3 * communication.value("exposed_seconds", 0.0) / steps;
    metrics["communication_ms"] = 1e3 * communication.value("busy_seconds", 0.0) / steps;
  }
  take(communication, "gradient_bytes", "gradient_bytes", metrics);
  read_log(folder + "/log.jsonl", settings, readings);
}

void read_stages(const RunOutputs& outputs, const StudySettings& settings, Readings& readings) {
  read_training(outputs, settings, readings);
  const std::string path = path_in(kProfiled, outputs) + "/profile.json";
  const Json profile = read_object(path);
  const Json stages = profile.value("stages", Json::object());
  for (const char* stage : {"loading", "forward", "backward", "evaluation"}) {
    take(stages, stage, stage, readings.metrics);
  }
  double other = 0;
  for (const Json& part : stages.value("other", Json::object())) {
    if (part.is_number()) other += part.get<double>();
  }
  readings.metrics["other"] = other;
  take(profile, "wall_s", "wall_s", readings.metrics);
  double products = 0, processor = 0;
  for (const Json& op : profile.value("ops", Json::array())) {
    const double own = op.value("self_s", 0.0);
    processor += own;
    if (op.value("flops", 0.0) > 0) products += own;
  }
  readings.metrics["processor_seconds"] = processor;
  readings.metrics["product_seconds"] = products;
}

void read_printed(const RunOutputs& outputs, const StudySettings&, Readings& readings) {
  readings.metrics["run_seconds"] = outputs.seconds;
  const std::string& text = outputs.results.back().out;
  const Json printed =
      parse_json(text.substr(0, text.find('\n')), "the output of the last command");
  for (const auto& [name, value] : printed.items()) {
    if (value.is_number()) readings.metrics[name] = value;
  }
  const Json metrics = printed.value("metrics", Json::object());
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) readings.metrics["metric"] = value;
    break;
  }
}

}  // namespace hone::study

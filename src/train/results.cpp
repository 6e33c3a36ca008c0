#include "train/results.h"

#include <fmt/core.h>

#include <cmath>

namespace hone::train {
namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json stages_of(const StageTimes& stages) {
  const double optimizer = stages[Stage::optimizer];
  const double checkpoint = stages[Stage::checkpoint];
  const double logging = stages[Stage::logging];
  const double wall = stages.wall();
  const double rest = wall - stages.accounted();
  return {{"loading", stages[Stage::loading]},
          {"forward", stages[Stage::forward]},
          {"backward", stages[Stage::backward]},
          {"evaluation", stages[Stage::evaluation]},
          {"other", optimizer + checkpoint + logging + rest},
          {"optimizer", optimizer},
          {"checkpoint", checkpoint},
          {"logging", logging},
          {"rest", rest},
          {"wall", wall}};
}

Json evaluation_of(const Summary& summary) {
  Json json = Json::object();
  for (const auto& [name, value] : summary.evaluation) json[name] = number(value);
  json["epoch"] = summary.epochs;
  return json;
}

Json training_of(const Summary& summary) {
  const double seconds = std::max(summary.train_seconds, 1e-9);
  return {{"epoch", summary.epochs},
          {"train_steps", summary.steps},
          {"train_samples", summary.samples},
          {"train_tokens", summary.tokens},
          {"train_loss", number(summary.train_loss)},
          {"train_runtime", summary.train_seconds},
          {"train_samples_per_second", static_cast<double>(summary.samples) / seconds},
          {"waiting_share", summary.waiting_share}};
}

}  // namespace

std::string megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

Json to_json(const Summary& summary) {
  Json json = training_of(summary);
  if (summary.gpu_idle_share) json["gpu_idle_share"] = *summary.gpu_idle_share;
  json.update(evaluation_of(summary));
  json["output_dir"] = summary.output;
  json["parameters"] = summary.parameters;
  json["trainable_parameters"] = summary.trainable;
  if (summary.best) {
    json["best_metric"] = *summary.best;
    json["best_global_step"] = summary.best_step;
  }
  json["interrupted"] = summary.interrupted;
  json["stopped_early"] = summary.stopped_early;
  json["last_checkpoint"] = summary.last_checkpoint;
  json["seconds"] = stages_of(summary.stages);
  json["checkpoint_seconds_in_background"] = summary.checkpoint_background_seconds;
  json["memory_bytes"] = {{"weights", summary.memory.weights},
                          {"gradients", summary.memory.gradients},
                          {"optimizer", summary.memory.optimizer},
                          {"activations", summary.memory.activations},
                          {"checkpoint_copy", summary.checkpoint_copy_bytes},
                          {"peak_resident", summary.peak_bytes}};
  if (summary.ranks > 1) {
    json["ranks"] = summary.ranks;
    json["communication"] = {{"exposed_seconds", summary.communication.exposed},
                             {"busy_seconds", summary.communication.busy},
                             {"gradient_bytes", summary.communication_bytes}};
  }
  if (summary.full) {
    json["against_full_fine_tuning"] = {
        {"memory_share", static_cast<double>(summary.memory.total()) /
                             static_cast<double>(summary.full->memory.total())},
        {"full_memory_bytes", summary.full->memory.total()},
        {"arithmetic_share", summary.full->flops_share}};
  }
  return json;
}

void write_results(const std::string& folder, const Summary& summary) {
  write_json(folder + "/all_results.json", to_json(summary));
  if (summary.steps > 0) write_json(folder + "/train_results.json", training_of(summary));
  if (!summary.evaluation.empty()) {
    write_json(folder + "/eval_results.json", evaluation_of(summary));
  }
}

}  // namespace hone::train

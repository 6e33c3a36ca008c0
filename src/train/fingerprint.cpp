#include "train/fingerprint.h"

#include <fmt/ranges.h>

#include "base/json.h"
#include "base/version.h"
#include "comm/agree.h"
#include "data/content_hash.h"
#include "models/explainer.h"

namespace hone::train {
namespace {

std::string order_of_samples(const Options& options) {
  const char* order = options.batch.group_by_length ? "by length" : "shuffled";
  if (options.data.train_fraction == 1) return order;
  return fmt::format("{}, a share of {}", order, options.data.train_fraction);
}

std::string schedule_text(const optim::Schedule& rate) {
  std::string text = std::to_string(static_cast<int>(rate.kind));
  if (rate.kind == optim::ScheduleKind::step) {
    text += fmt::format(" {} {}", rate.step_size, rate.gamma);
  }
  return text;
}

std::string teacher_text(const Options& options, const Datasets& data) {
  const DistillOptions& distill = options.distill;
  if (distill.teacher.empty()) return "none";
  data::ContentHash hash;
  hash.bytes(data.teacher.data(), data.teacher.size() * sizeof(float));
  const std::string who = data.teacher.empty() ? kSelf : data::hex(hash.value());
  return fmt::format("{} weight {} temperature {}", who, distill.weight, distill.temperature);
}

std::string explain_text(const Options& options, const models::ModelConfig& config) {
  const models::ExplainSettings* settings = models::explain_settings(config);
  if (!settings) return "none";
  return fmt::format("{} neighbours, {} heads, {} words, weights {} {}, {} masked",
                     settings->neighbours, settings->heads, settings->concept_words,
                     settings->local_weight, settings->global_weight, options.explain.mask_phrases);
}

/// Adds the fields of a config, so that the one that differs is named with its values.
void add_config(const data::TextFile& file, comm::Fields& fields) {
  const Json config = parse_json(file.text, file.name);
  for (const auto& [name, value] : config.items()) {
    fields.emplace_back(file.name + ", " + name, value.dump());
  }
}

void add_hash(const std::string& name, const void* data, size_t bytes, comm::Fields& fields) {
  data::ContentHash hash;
  hash.bytes(data, bytes);
  fields.emplace_back(name, data::hex(hash.value()));
}

}  // namespace

Fingerprint fingerprint_of(const Options& options, const TrainedModel& model, const Datasets& data,
                           const StepSchedule& schedule, const RunSize& size) {
  const models::ModelConfig& config = model.config();
  const auto& lora = model.model().lora();
  const optim::OptimizerOptions& optimizer = options.optimizer;
  const int64_t virtual_ranks = options.parallel.virtual_ranks;
  return {
      {"model", config.summary()},
      {"adapter", lora ? fmt::format("rank {} alpha {} on {}", lora->rank, lora->alpha,
                                     fmt::join(lora->targets, ","))
                       : "none"},
      {"early exits",
       config.exits.method == models::ExitMethod::adaptive
           ? fmt::format("adaptive {} {}", options.model.exit_cost_weight, options.model.exit_cost)
           : models::exit_method_name(config.exits.method)},
      {"explains itself", explain_text(options, config)},
      {"frozen weights", options.model.freeze},
      {"precision", std::string(dtype_name(options.step.dtype))},
      {"device", options.gpu ? "cuda" : "cpu"},
      {"seed", std::to_string(options.seed)},
      {"training data", data.training->key},
      {"batch size", std::to_string(options.batch.train * size.devices)},
      {"token budget", std::to_string(options.batch.max_tokens * size.devices)},
      {kAccumulation, std::to_string(options.batch.accumulation)},
      {"number of steps", std::to_string(schedule.steps)},
      {"learning rate", fmt::format("{}", options.learning_rate)},
      {"warm-up", std::to_string(schedule.learning_rate.warmup)},
      {"weight decay", fmt::format("{}", options.optimizer.weight_decay)},
      {"order of samples", order_of_samples(options)},
      {"schedule", schedule_text(schedule.learning_rate)},
      {"optimiser", fmt::format("{} {} {} {} {} {}{}", optim::optimizer_name(optimizer.kind),
                                optimizer.beta1, optimizer.beta2, optimizer.eps, optimizer.momentum,
                                optimizer.max_grad_norm, optimizer.nesterov ? " nesterov" : "")},
      {"layout of 8-bit moments", optimizer.kind == optim::OptimizerKind::adamw_8bit
                                      ? std::string(isa_name(model.model().parameters().isa()))
                                      : "none"},
      {"teacher", teacher_text(options, data)},
      {"label smoothing", fmt::format("{}", options.label_smoothing)},
      {"augmentation", model.augmentation().text()},
      {"moving average", fmt::format("{}", options.average_decay)},
      {"virtual ranks", virtual_ranks > 0 ? std::to_string(virtual_ranks) : "none"},
      {kRanks, std::to_string(size.ranks)},
      // The order of sums on a GPU does not depend on it.
      {kThreads, options.gpu ? "any" : std::to_string(size.threads)}};
}

void agree_on_model(comm::Communicator& ranks, const Options& options, const TrainedModel& model) {
  comm::Fields fields = {
      {"version", kVersion},
      {"instruction set", std::string(isa_name(model.model().parameters().isa()))},
      {"precision", std::string(dtype_name(options.step.dtype))},
      {"seed", std::to_string(options.seed)}};
  for (const data::TextFile& file : model.files().texts) {
    if (file.name == "config.json") {
      add_config(file, fields);
    } else {
      add_hash(file.name, file.text.data(), file.text.size(), fields);
    }
  }
  comm::agree(ranks, fields);
}

void agree_on_weights(comm::Communicator& ranks, const TrainedModel& model) {
  const nn::Parameters& parameters = model.model().parameters();
  comm::Fields fields;
  for (const nn::Parameter& each : parameters.list()) {
    const void* data = parameters.pointers()[static_cast<size_t>(each.weight.slot)];
    add_hash("weights, " + each.tensors.front(), data, parameters.bytes_of(each), fields);
  }
  comm::agree(ranks, fields);
}

void agree_on_evaluations(comm::Communicator& ranks, const Datasets& data) {
  comm::Fields fields;
  for (const Datasets::Part& part : data.evaluations) {
    fields.emplace_back("evaluation data, " + part.name, part.key);
  }
  comm::agree(ranks, fields);
}

void agree_on_run(comm::Communicator& ranks, const Fingerprint& fingerprint) {
  comm::Fields fields = fingerprint;
  std::erase_if(fields, [](const auto& field) { return field.first == kThreads; });
  comm::agree(ranks, fields);
}

}  // namespace hone::train

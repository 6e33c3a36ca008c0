#include <fmt/format.h>

#include "study/catalog.h"
#include "study/readings.h"

namespace hone::study {
namespace {

constexpr const char* kBase = "{run}/base";

/// Gives the commands that make a folder to start from where the user names none: a new model, of
/// one step.
std::vector<Words> base_of(const std::string& model) {
  if (!model.empty()) return {};
  Words words = {"train"};
  add_option(words, "output_dir", kBase);
  add_option(words, "max_steps", "1");
  add_option(words, "max_train_samples", "64");
  add_option(words, "eval_strategy", "no");
  add_option(words, "save_strategy", "no");
  add_switch(words, "quiet");
  return {words};
}

std::string folder_of(const std::string& model) { return model.empty() ? kBase : model; }

}  // namespace

std::vector<Case> stages_cases(const StudySettings& settings) {
  constexpr int64_t kSteps = 200;
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    cases.push_back({.fields = {{"model", model_name(model)}},
                     .commands = {profiled(training(settings, model, kSteps))},
                     .read = read_stages});
  }
  Words lstm = training(settings, "", kSteps);
  add_option(lstm, "model_type", "lstm");
  cases.push_back(
      {.fields = {{"model", "lstm"}}, .commands = {profiled(lstm)}, .read = read_stages});
  return cases;
}

std::vector<Case> loader_cases(const StudySettings& settings) {
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const int64_t workers : points_of(settings, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) {
      Words words = {"bench", "loader"};
      add_option(words, "workers", std::to_string(workers));
      add_option(words, "output", "{run}/store");
      if (!model.empty()) add_option(words, "model", model);
      if (!settings.task.empty()) add_option(words, "task_name", settings.task);
      if (!settings.data.empty()) add_option(words, "data", settings.data);
      if (settings.batch > 0) add_option(words, "batch", std::to_string(settings.batch));
      if (settings.threads > 0) add_option(words, "threads", std::to_string(settings.threads));
      add_switch(words, "json");
      cases.push_back({.fields = {{"model", model_name(model)}, {"workers", workers}},
                       .commands = {words},
                       .read = read_printed});
    }
  }
  return cases;
}

std::vector<Case> precision_cases(const StudySettings& settings) {
  constexpr int64_t kSteps = 200, kLines = 50;
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const char* precision : {"fp32", "bf16", "fp16"}) {
      Words words = training(settings, model, kSteps, kLines);
      if (std::string_view(precision) != "fp32") add_switch(words, precision);
      cases.push_back({.fields = {{"model", model_name(model)}, {"precision", precision}},
                       .commands = {words},
                       .read = read_training});
    }
  }
  return cases;
}

std::vector<Case> lora_cases(const StudySettings& settings) {
  constexpr int64_t kSteps = 200, kLines = 50;
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const int64_t rank : points_of(settings, {0, 8})) {
      std::vector<Words> commands = base_of(model);
      commands.push_back(training(settings, folder_of(model), kSteps, kLines));
      if (rank > 0) add_option(commands.back(), "lora_rank", std::to_string(rank));
      cases.push_back({.fields = {{"model", model_name(model)},
                                  {"method", rank > 0 ? fmt::format("rank {}", rank) : "full"}},
                       .commands = std::move(commands),
                       .read = read_training});
    }
  }
  return cases;
}

std::vector<Case> checkpointing_cases(const StudySettings& settings) {
  constexpr int64_t kSteps = 10;
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const int64_t layers : points_of(settings, {4, 8, 12})) {
      for (int64_t segments = 0; segments <= layers; ++segments) {
        std::vector<Words> commands = base_of(model);
        Words words = training(settings, "", kSteps);
        add_option(words, "config_name", folder_of(model));
        add_option(words, "tokenizer_name", folder_of(model));
        add_option(words, "config_overrides", fmt::format("num_hidden_layers={}", layers));
        add_option(words, "eval_strategy", "no");
        // Without segments every activation is kept: that is the point at 0.
        if (segments > 0) add_option(words, "checkpoint_segments", std::to_string(segments));
        commands.push_back(std::move(words));
        cases.push_back(
            {.fields = {{"model", model_name(model)}, {"layers", layers}, {"segments", segments}},
             .commands = std::move(commands),
             .read = read_training});
      }
    }
  }
  return cases;
}

}  // namespace hone::study

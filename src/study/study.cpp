#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "study/catalog.h"
#include "study/readings.h"

namespace hone::study {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

/// Gives a word as a shell reads it.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = word;
  replace_all(text, "'", "'\\''");
  return "'" + text + "'";
}

}  // namespace

const std::vector<Study>& studies() {
  static const std::vector<Study> list = {
      {"stages", "where the time of a training goes", stages_cases},
      {"loader", "threads that make batches, against time", loader_cases},
      {"precision", "fp32 and mixed precision: loss, metric, memory, time", precision_cases},
      {"lora", "full fine-tuning and adapters: time, memory, metric", lora_cases},
      {"checkpointing", "memory and time by segments and layers", checkpointing_cases},
      {"small", "dtypes and exits: metric, latency, memory", small_cases},
      {"explain", "plain and self-explaining models, by devices", explain_cases},
      {"devices", "methods, devices, precisions, batches; inference", devices_cases},
      {"scale", "speed-up and efficiency by ranks, strong and weak", scale_cases},
      {"convergence", "the loss by epoch and by time, by ranks", convergence_cases},
      {"prepare", "preparation by processes and share of the data", prepare_cases},
      {"balance", "equal and dynamic shares", balance_cases}};
  return list;
}

const Study& find_study(const std::string& name) {
  for (const Study& each : studies()) {
    if (each.name == name) return each;
  }
  std::string names;
  for (const Study& each : studies()) names += fmt::format("{}, ", each.name);
  fail(ErrorKind::usage, "study: expected {}money or simulate, got {}", names, quote(name));
}

Words filled(const Words& words, const std::string& folder, uint64_t seed) {
  Words made = words;
  for (std::string& word : made) {
    replace_all(word, kRunFolder, folder);
    replace_all(word, kRunSeed, std::to_string(seed));
  }
  return made;
}

std::string shown(const std::vector<Words>& commands, uint64_t seed) {
  std::string text;
  for (const Words& words : commands) {
    text += text.empty() ? "hone" : " && hone";
    for (const std::string& word : filled(words, "RUN", seed)) text += " " + shell_word(word);
  }
  return text;
}

void add_option(Words& words, const std::string& field, const std::string& value) {
  words.push_back("--" + field);
  words.push_back(value);
}

void add_switch(Words& words, const std::string& field) { words.push_back("--" + field); }

Words training(const StudySettings& settings, const std::string& model, int64_t steps,
               int64_t lines) {
  Words words = {"train"};
  add_option(words, "output_dir", std::string(kTrained));
  add_option(words, "seed", std::string(kRunSeed));
  add_option(words, "save_strategy", "no");
  add_switch(words, "quiet");
  if (!model.empty()) add_option(words, "model", model);
  if (!settings.task.empty()) add_option(words, "task_name", settings.task);
  if (!settings.data.empty()) add_option(words, "data", settings.data);
  if (settings.batch > 0) {
    add_option(words, "per_device_train_batch_size", std::to_string(settings.batch));
  }
  const int64_t wanted = settings.max_steps > 0 ? settings.max_steps : steps;
  if (wanted > 0) add_option(words, "max_steps", std::to_string(wanted));
  if (lines > 0) {
    const int64_t every = std::max<int64_t>(1, wanted / lines);
    add_option(words, "logging_steps", std::to_string(every));
  }
  if (settings.device != "auto") add_option(words, "device", settings.device);
  if (settings.threads > 0) add_option(words, "threads", std::to_string(settings.threads));
  words.insert(words.end(), settings.more.begin(), settings.more.end());
  return words;
}

Words scoring(const StudySettings& settings, const std::string& model) {
  Words words = {"eval"};
  add_option(words, "model", model);
  add_option(words, "task_name", settings.task.empty() ? "reviews" : settings.task);
  if (!settings.data.empty()) add_option(words, "data", settings.data);
  if (settings.threads > 0) add_option(words, "threads", std::to_string(settings.threads));
  add_switch(words, "json");
  add_switch(words, "quiet");
  return words;
}

Words profiled(const Words& command) {
  Words words = {"profile"};
  add_option(words, "output", std::string(kProfiled));
  add_switch(words, "quiet");
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Words models_of(const StudySettings& settings) {
  return settings.models.empty() ? Words{""} : settings.models;
}

std::string model_name(const std::string& folder) {
  if (folder.empty()) return "new";
  const auto path = std::filesystem::path(folder).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

std::vector<int64_t> points_of(const StudySettings& settings, std::vector<int64_t> usual) {
  return settings.points.empty() ? std::move(usual) : settings.points;
}

std::string too_many_ranks(const StudySettings& settings, int64_t ranks) {
  if (settings.device.starts_with("cuda")) return no_gpu(ranks - 1);
  if (!settings.points.empty() || ranks <= usable_cores()) return {};
  return fmt::format("{} ranks would share {} cores", ranks, usable_cores());
}

std::string no_gpu(int64_t index) {
  const CudaInfo& cuda = cuda_info();
  if (!cuda.missing.empty()) return cuda.missing;
  const auto there = static_cast<int64_t>(cuda.devices.size());
  if (index < there) return {};
  return fmt::format("this machine has {} GPU{}", there, there == 1 ? "" : "s");
}

}  // namespace hone::study

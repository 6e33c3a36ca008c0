#include <fmt/format.h>

#include "models/family.h"
#include "models/folder.h"
#include "study/catalog.h"
#include "study/readings.h"

namespace hone::study {
namespace {

/// Reads what a variant of a small bench printed, under the names that records have.
void read_small(const RunOutputs& outputs, const StudySettings& settings, Readings& readings) {
  read_printed(outputs, settings, readings);
  Json& metrics = readings.metrics;
  if (metrics.contains("peak_rss_bytes")) metrics["peak_bytes"] = metrics["peak_rss_bytes"];
  metrics.erase("peak_rss_bytes");
}

bool has_exits(const std::string& model) {
  if (model.empty()) return true;  // the study trains them
  const models::ModelFolder folder = models::open_model_folder(model);
  return folder.config->exits.method != models::ExitMethod::none;
}

/// One way to train on several devices.
struct Method {
  const char* name;
  int64_t devices;
};

void add_method(const Method& method, bool gpu, Case& each) {
  Words& words = each.commands.back();
  if (method.devices == 1) return;
  if (gpu) {
    each.missing = no_gpu(method.devices - 1);
  }
  add_option(words, "strategy", method.name);
  const bool one_process = std::string_view(method.name) == "dp";
  add_option(words, one_process ? "dp_devices" : "nproc-per-node", std::to_string(method.devices));
}

/// Adds trainings of a model by method, devices, precision and batch.
void add_trainings(const StudySettings& settings, const std::string& model, bool gpu,
                   std::vector<Case>& cases) {
  constexpr int64_t kSteps = 60;
  constexpr Method kMethods[] = {{"single", 1}, {"dp", 2}, {"ddp", 2}, {"dp", 4}, {"ddp", 4}};
  const int64_t batch = settings.batch > 0 ? settings.batch : 16;
  for (const int64_t size : {batch, 2 * batch}) {
    for (const Method& method : kMethods) {
      for (const char* precision : {"fp32", "bf16"}) {
        StudySettings sized = settings;
        sized.batch = size;
        sized.device = gpu ? "cuda" : "cpu";
        Case each{.fields = {{"part", "training"},
                             {"device", sized.device},
                             {"model", model_name(model)},
                             {"method", method.name},
                             {"devices", method.devices},
                             {"precision", precision},
                             {"batch", size}},
                  .commands = {training(sized, model, kSteps)},
                  .read = read_training};
        if (std::string_view(precision) != "fp32") add_switch(each.commands.back(), precision);
        if (gpu) each.missing = no_gpu(0);
        if (each.missing.empty()) add_method(method, gpu, each);
        if (each.missing.empty() && !gpu) {
          each.missing = too_many_ranks(settings, method.devices);
        }
        cases.push_back(std::move(each));
      }
    }
  }
}

/// Adds scorings of a model as trained in fp32 and mixed, by dtype, with plans and without.
void add_inference(const StudySettings& settings, const std::string& model, bool gpu,
                   std::vector<Case>& cases) {
  constexpr int64_t kSteps = 30;
  for (const char* trained : {"fp32", "mixed"}) {
    for (const char* dtype : {"fp32", "int8"}) {
      if (gpu && std::string_view(dtype) == "int8") continue;
      for (const char* how : {"eager", "plan"}) {
        Words train = training(settings, model, kSteps);
        if (std::string_view(trained) == "mixed") add_switch(train, "bf16");
        Words words = scoring(settings, std::string(kTrained));
        add_option(words, "device", gpu ? "cuda" : "cpu");
        add_option(words, "dtype", dtype);
        if (std::string_view(how) == "eager") add_switch(words, "no_plan");
        cases.push_back({.fields = {{"part", "inference"},
                                    {"device", gpu ? "cuda" : "cpu"},
                                    {"model", model_name(model)},
                                    {"trained", trained},
                                    {"dtype", dtype},
                                    {"how", how}},
                         .commands = {train, words},
                         .read = read_printed,
                         .missing = gpu ? no_gpu(0) : ""});
      }
    }
  }
}

bool has_family(const std::string& type) {
  for (const models::Family& family : models::families()) {
    if (family.model_type == type) return true;
  }
  return false;
}

}  // namespace

std::vector<Case> small_cases(const StudySettings& settings) {
  constexpr int64_t kSteps = 300;
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const bool exits : has_exits(model) ? std::vector{false, true} : std::vector{false}) {
      for (const char* dtype : {"fp32", "bf16", "int8"}) {
        Case each{.fields = {{"model", model_name(model)},
                             {"task", settings.task.empty() ? "reviews" : settings.task},
                             {"variant", fmt::format("{}{}", dtype, exits ? "+exits" : "")}},
                  .read = read_small};
        if (model.empty()) {
          each.commands.push_back(training(settings, "", kSteps));
          add_option(each.commands.back(), "early_exit", "pabee");
        }
        Words words = {"bench"};
        add_option(words, "small", model.empty() ? std::string(kTrained) : model);
        add_option(words, "task_name", settings.task.empty() ? "reviews" : settings.task);
        if (!settings.data.empty()) add_option(words, "data", settings.data);
        add_option(words, "variant", each.fields["variant"].get<std::string>());
        if (settings.threads > 0) add_option(words, "threads", std::to_string(settings.threads));
        each.commands.push_back(std::move(words));
        cases.push_back(std::move(each));
      }
    }
  }
  return cases;
}

std::vector<Case> devices_cases(const StudySettings& settings) {
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const bool gpu : {false, true}) {
      if (gpu ? settings.device == "cpu" : settings.device.starts_with("cuda")) continue;
      add_trainings(settings, model, gpu, cases);
      add_inference(settings, model, gpu, cases);
    }
  }
  for (const char* family : {"resnet", "roberta"}) {
    if (has_family(family)) continue;
    cases.push_back({.fields = {{"model", family}},
                     .commands = {},
                     .read = read_training,
                     .missing = fmt::format("this build has no family {}", family)});
  }
  return cases;
}

std::vector<Case> explain_cases(const StudySettings& settings) {
  constexpr int64_t kSteps = 30;
  struct Row {
    int64_t devices, workers;
  };
  constexpr Row kRows[] = {{1, 16}, {2, 16}, {4, 16}, {2, 4}};
  std::vector<Case> cases;
  for (const std::string& model : models_of(settings)) {
    for (const Row& row : kRows) {
      for (const char* method : {"dp", "ddp"}) {
        const Method how{row.devices == 1 ? "single" : method, row.devices};
        if (row.devices == 1 && std::string_view(method) == "ddp") continue;
        Case each{.fields = {{"model", model_name(model)},
                             {"method", how.name},
                             {"devices", row.devices},
                             {"workers", row.workers}},
                  .commands = {training(settings, model, kSteps)},
                  .read = read_stages};
        add_option(each.commands.back(), "dataloader_num_workers", std::to_string(row.workers));
        const bool gpu = settings.device.starts_with("cuda");
        add_method(how, gpu, each);
        if (!gpu && each.missing.empty()) each.missing = too_many_ranks(settings, row.devices);
        // A profile is of one process: several of them are timed alone.
        if (std::string_view(how.name) == "ddp") {
          each.read = read_training;
        } else {
          each.commands.back() = profiled(each.commands.back());
        }
        cases.push_back(std::move(each));
      }
    }
  }
  return cases;
}

}  // namespace hone::study

#include "study/run_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

namespace hone::study {
namespace {

constexpr int kUserError = 2;
constexpr double kEnergyInterval = 0.5;  ///< seconds; counters wrap around in minutes

/// A run's own folder, gone with it.
class Scratch {
 public:
  explicit Scratch(const std::string& path) : path_(path) {
    std::filesystem::remove_all(path_);
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) fail(ErrorKind::io, "{}: {}", path_, error.message());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Gives the last line that a program wrote, without its name.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t end = text.rfind('\n');
  if (end != std::string::npos) text.erase(0, end + 1);
  if (text.starts_with("hone: ")) text.erase(0, 6);
  return text;
}

/// Runs a case's commands and fills in what came of them.
void measure(const Case& each, const StudySettings& settings, const StudyRun& how,
             const std::string& folder, Record& record) {
  const Scratch scratch(folder);
  RunOutputs outputs{.folder = scratch.path()};
  RunEnergy energy;
  if (each.prepare) each.prepare(scratch.path());
  for (const Words& words : each.commands) {
    profile::UsageSampler sampler(kEnergyInterval);
    const Stopwatch watch;
    outputs.results.push_back(how.run(filled(words, scratch.path(), record.seed)));
    outputs.seconds = watch.seconds();
    energy = energy_of(sampler.stop());
    const ChildResult& result = outputs.results.back();
    if (result.code == 0) continue;
    // What this build or machine refuses is no failure: it says so by the code of a user's mistake.
    record.status = result.code == kUserError ? "not available" : "failed";
    record.why = last_line(result.err);
    if (record.why.empty()) record.why = fmt::format("ended with code {}", result.code);
    return;
  }
  Readings readings;
  each.read(outputs, settings, readings);
  add_energy(energy, how.carbon, readings.metrics);
  for (const auto& [name, value] : each.fields.items()) readings.metrics.erase(name);
  record.metrics = std::move(readings.metrics);
  record.curves = std::move(readings.curves);
}

std::string told(const Record& record) {
  if (record.status != "ok") return record.status + ": " + record.why;
  std::string text;
  for (const char* name : {"seconds", "metric", "score", "p50_ms", "memory_bytes", "step_ms"}) {
    const auto value = record.metrics.find(name);
    if (value == record.metrics.end() || !value->is_number()) continue;
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, value->get<double>());
  }
  return text.empty() ? "done" : text;
}

}  // namespace

std::vector<Turn> turns_of(const std::vector<Case>& cases, int64_t repeats, uint64_t seed) {
  std::vector<Turn> turns;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    std::vector<std::pair<uint32_t, size_t>> order;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (repeat > 0 && !cases[i].missing.empty()) continue;
      order.emplace_back(philox(seed, static_cast<uint64_t>(repeat), i)[0], i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [key, which] : order) turns.push_back({which, repeat});
  }
  return turns;
}

void run_study(const Study& study, const StudySettings& settings, const StudyRun& how,
               const std::string& scratch, RecordFile& records) {
  const std::vector<Case> cases = study.cases(settings);
  const std::vector<Turn> turns = turns_of(cases, how.repeats, settings.seed);
  const Json machine = machine_facts();
  for (size_t i = 0; i < turns.size(); ++i) {
    const Case& each = cases[turns[i].which];
    Record record{.study = std::string(study.name),
                  .fields = each.fields,
                  .repeat = turns[i].repeat,
                  .seed = settings.seed + static_cast<uint64_t>(turns[i].repeat),
                  .version = how.version,
                  .machine = machine};
    record.command = shown(each.commands, record.seed);
    if (records.has(record)) continue;
    if (each.missing.empty()) {
      measure(each, settings, how, fmt::format("{}/run-{}", scratch, i), record);
    } else {
      record.status = "not available";
      record.why = each.missing;
    }
    records.append(record);
    if (how.say) {
      how.say(static_cast<int64_t>(i) + 1, static_cast<int64_t>(turns.size()),
              fmt::format("{} {}, repeat {}: {}", study.name, each.fields.dump(), record.repeat + 1,
                          told(record)));
    }
  }
}

}  // namespace hone::study

#include "profile/profile_file.h"

#include <fmt/format.h>

#include <map>

#include "base/file.h"
#include "base/json.h"
#include "device/memory.h"
#include "profile/op_table.h"

namespace hone::profile {
namespace {

constexpr std::array kShown = {Stage::loading, Stage::forward, Stage::backward, Stage::evaluation};
constexpr std::array kOther = {Stage::optimizer, Stage::checkpoint, Stage::communication,
                               Stage::logging,   Stage::writing,    Stage::device};

double seconds_of(const Track& track, Stage stage) {
  return static_cast<double>(track.stage_ns[static_cast<size_t>(stage)]) * 1e-9;
}

/// Gives the main thread's stages; "unnamed" is what is left of the wall time.
OrderedJson stages_of(const Recorder& recorder) {
  const Track& track = recorder.main_track();
  OrderedJson stages, other;
  double named = 0;
  for (const Stage stage : kShown) {
    stages[stage_name(stage)] = seconds_of(track, stage);
    named += seconds_of(track, stage);
  }
  for (const Stage stage : kOther) {
    const double seconds = seconds_of(track, stage);
    named += seconds;
    if (seconds > 0) other[stage_name(stage)] = seconds;
  }
  other["unnamed"] = recorder.wall_seconds() - named;
  stages["other"] = std::move(other);
  return stages;
}

/// Gives what other threads did beside the main one, which no stage counts.
OrderedJson overlapped(const Recorder& recorder) {
  std::map<std::string, std::pair<int64_t, double>> sums;
  for (const auto& track : recorder.tracks()) {
    if (track.get() == &recorder.main_track() || track->name == "device") continue;
    for (const Event& event : track->events) {
      auto& [calls, seconds] = sums[event.name];
      ++calls;
      seconds += static_cast<double>(event.self_ns) * 1e-9;
    }
  }
  OrderedJson list = OrderedJson::array();
  for (const auto& [name, sum] : sums) {
    list.push_back({{"name", name}, {"calls", sum.first}, {"seconds", sum.second}});
  }
  return list;
}

OrderedJson rows_of(const std::vector<OpRow>& rows, double peak_flops) {
  OrderedJson list = OrderedJson::array();
  for (const OpRow& row : rows) {
    const double seconds = row.device_seconds > 0 ? row.device_seconds : row.self_seconds;
    OrderedJson json = {{"name", row.name},
                        {"calls", row.calls},
                        {"self_s", row.self_seconds},
                        {"total_s", row.total_seconds},
                        {"device_s", row.device_seconds},
                        {"share", row.share},
                        {"bytes", row.bytes},
                        {"flops", row.flops}};
    if (!row.layer.empty()) json["layer"] = row.layer;
    if (peak_flops > 0 && row.flops > 0 && seconds > 0) {
      json["share_of_peak"] = row.flops / seconds / peak_flops;
    }
    list.push_back(std::move(json));
  }
  return list;
}

OrderedJson memory_of(const Recorder& recorder) {
  OrderedJson memory = OrderedJson::object();
  for (const auto& [kind, bytes] : recorder.memory()) memory[kind] = bytes;
  memory["peak_resident"] = peak_resident_bytes();
  return memory;
}

OrderedJson facts_of(const Recorder& recorder) {
  OrderedJson facts = OrderedJson::object();
  for (const auto& [name, value] : recorder.facts()) facts[name] = value;
  return facts;
}

OrderedJson samples_of(const std::vector<UsageSample>& samples) {
  OrderedJson list = OrderedJson::array();
  for (const UsageSample& sample : samples) {
    OrderedJson json = {{"seconds", sample.seconds}};
    for (const UsageNumber& number : usage_numbers()) {
      if (const auto value = number.of(sample)) json[number.name] = *value;
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

void write_profile(const std::string& folder, const Profile& profile) {
  const Recorder& recorder = profile.recorder;
  constexpr size_t kMostGaps = 100;
  OrderedJson gaps = OrderedJson::array();
  double idle = 0;
  for (const IdleGap& gap : idle_gaps(recorder)) {
    idle += gap.seconds;
    if (gaps.size() < kMostGaps) {
      gaps.push_back({{"at_s", gap.begin}, {"seconds", gap.seconds}, {"cause", gap.cause}});
    }
  }
  OrderedJson json = {{"version", profile.version},
                      {"command", profile.command},
                      {"wall_s", recorder.wall_seconds()},
                      {"steps", recorder.steps()},
                      {"stages", stages_of(recorder)},
                      {"overlapped", overlapped(recorder)},
                      {"window",
                       {{"steps", recorder.window_steps()},
                        {"seconds", recorder.window_seconds()},
                        {"device_busy_s", device_busy_seconds(recorder)},
                        {"device_idle_s", idle},
                        {"dropped_events", recorder.dropped_events()}}},
                      {"facts", facts_of(recorder)},
                      {"peak_flops", recorder.peak_flops()},
                      {"ops", rows_of(op_table(recorder), recorder.peak_flops())},
                      {"layers", rows_of(op_table(recorder, true), recorder.peak_flops())},
                      {"idle_gaps", std::move(gaps)},
                      {"memory", memory_of(recorder)},
                      {"samples", samples_of(profile.samples)}};
  write_file(folder + "/profile.json", json.dump(2) + "\n");
}

std::string profile_text(const Profile& profile) {
  const Recorder& recorder = profile.recorder;
  const double wall = recorder.wall_seconds();
  std::string text = fmt::format("{:.2f} s in all\n", wall);
  const auto line = [&](std::string_view name, double seconds) {
    text += fmt::format("  {:<24}{:>9.3f} s {:>6.1f}%\n", name, seconds,
                        wall > 0 ? 100 * seconds / wall : 0);
  };
  const OrderedJson stages = stages_of(recorder);
  for (const auto& [name, value] : stages.items()) {
    if (value.is_number()) line(name, value.get<double>());
  }
  for (const auto& [name, value] : stages["other"].items()) {
    line("other: " + name, value.get<double>());
  }
  for (const auto& work : overlapped(recorder)) {
    line("beside it: " + work["name"].get<std::string>(), work["seconds"].get<double>());
  }
  const OrderedJson facts = facts_of(recorder);
  if (const double requests = facts.value("requests", 0.); requests > 0) {
    text += fmt::format("  {:.0f} requests waited {:.3f} ms each in the queue\n", requests,
                        1e3 * facts.value("queue_s", 0.) / requests);
  }
  if (recorder.window_steps() == 0) return text + "no step came to the window: nothing to list\n";
  text += fmt::format("\n{} steps, {:.3f} s:\n  {:<28}{:>8}{:>11}{:>9}{:>11}{:>9}\n",
                      recorder.window_steps(), recorder.window_seconds(), "operation", "calls",
                      "self ms", "share", "GFLOP/s", "GB/s");
  constexpr size_t kRows = 15;
  const std::vector<OpRow> rows = op_table(recorder);
  for (size_t i = 0; i < std::min(kRows, rows.size()); ++i) {
    const OpRow& row = rows[i];
    const double seconds = row.device_seconds > 0 ? row.device_seconds : row.self_seconds;
    const auto rate = [&](double amount) {
      return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds * 1e-9) : "";
    };
    text += fmt::format("  {:<28}{:>8}{:>11.3f}{:>8.1f}%{:>11}{:>9}\n", row.name, row.calls,
                        1e3 * seconds, 100 * row.share, rate(row.flops), rate(row.bytes));
  }
  return text;
}

}  // namespace hone::profile

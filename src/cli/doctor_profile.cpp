#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/doctor_checks.h"

namespace hone::cli {
namespace {

using Status = Check::Status;

/// Gives a word as a shell takes it for one.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// A profile's numbers, by the names that profile.json has; what is absent, or is no number, is 0.
/// All are between 0 and 1e15, whatever the file says, so that they can be reckoned with.
class Facts {
 public:
  Facts(const Json& profile, const std::string& file)
      : profile_(profile), fields_(profile, file), wall_(fields_.number("wall_s")) {
    if (wall_ <= 0) fields_.fail_field("wall_s", "expected a number above 0");
    const Json& words = fields_.at("command");
    if (!words.is_array()) fields_.fail_field("command", "expected a list of words");
    for (const Json& word : words) {
      if (!word.is_string()) fields_.fail_field("command", "expected a list of words");
      const auto& text = word.get_ref<const std::string&>();
      if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; })) {
        fields_.fail_field("command", "expected words without control characters");
      }
      command_.push_back(text);
    }
  }

  double stage(const char* name) const { return number(part(profile_, "stages"), name); }
  double other(const char* name) const {
    return number(part(part(profile_, "stages"), "other"), name);
  }
  double fact(const char* name) const { return number(part(profile_, "facts"), name); }
  double memory(const char* name) const { return number(part(profile_, "memory"), name); }
  /// Gives the seconds that the main thread spent in spans of a name, in the window.
  double row(const char* name, const char* field) const {
    return number(named(part(profile_, "ops"), name), field);
  }
  double overlapped(const char* name) const {
    return number(named(part(profile_, "overlapped"), name), "seconds");
  }
  double share_of_window(double seconds) const {
    return ratio(seconds, number(part(profile_, "window"), "seconds"));
  }
  double share(double seconds) const { return ratio(seconds, wall_); }
  double wall() const { return wall_; }
  bool trains() const { return !command_.empty() && command_.front() == "train"; }

  /// Gives the command with an option set, in place of a value that it has.
  std::string with(const std::string& option, const std::string& value) const {
    const auto plain = [](std::string name) {
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    };
    std::string line = "hone";
    const auto add = [&](const std::string& word) { line += " " + shell_word(word); };
    for (size_t i = 0; i < command_.size(); ++i) {
      const std::string name = command_[i].substr(0, command_[i].find('='));
      if (plain(name) != plain(option)) {
        add(command_[i]);
      } else if (name == command_[i] && !value.empty()) {
        ++i;
      }
    }
    add(option);
    if (!value.empty()) add(value);
    return line;
  }

 private:
  static const Json& part(const Json& object, const char* name) {
    static const Json nothing;
    if (!object.is_object()) return nothing;
    const auto at = object.find(name);
    return at == object.end() ? nothing : *at;
  }
  static double number(const Json& object, const char* name) {
    const Json& value = part(object, name);
    return value.is_number() ? std::clamp(value.get<double>(), 0., 1e15) : 0;
  }
  /// Gives the object of a list that has this name.
  static const Json& named(const Json& list, const char* name) {
    static const Json nothing;
    if (!list.is_array()) return nothing;
    for (const Json& each : list) {
      const Json& own = part(each, "name");
      if (own.is_string() && own.get_ref<const std::string&>() == name) return each;
    }
    return nothing;
  }
  /// Gives the share that a part is of a whole, at most 1.
  static double ratio(double part, double whole) {
    return whole > 0 ? std::min(part / whole, 1.) : 0;
  }

  const Json& profile_;
  JsonFields fields_;
  double wall_;
  std::vector<std::string> command_;
};

std::string percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

/// Judges work that comes at intervals: where it takes more than `most` of the time, intervals that
/// are so much longer bring it down to that.
void judge_interval(const Facts& facts, const char* name, double seconds, double times,
                    const char* option, std::vector<Check>& found) {
  constexpr double kMost = 0.15, kWanted = 0.05;
  const double share = facts.share(seconds);
  const double steps = facts.fact("steps");
  if (share < kMost || times < 2 || steps <= 0) return;
  const double longer = std::ceil(share * (1 - kWanted) / (kWanted * (1 - share)));
  const double every = std::min(std::floor(std::max(1., steps / times) * longer), 1e15);
  const double left = std::max(1., std::floor(steps / every)) / times;
  found.push_back({name, Status::advice,
                   fmt::format("{} times, {} of the time", times, percent(share)),
                   facts.with(option, fmt::format("{:.0f}", every)), share * (1 - left)});
}

void judge_threads(const Facts& facts, std::vector<Check>& found) {
  const double threads = facts.fact("threads"), cores = facts.fact("usable_cores");
  if (threads <= 0 || threads >= cores) return;
  const double computing = facts.share(facts.stage("forward") + facts.stage("backward") +
                                       facts.stage("evaluation") + facts.other("optimizer"));
  constexpr double kScaling = 0.85;  // what a second thread adds where memory is shared
  found.push_back({"threads", Status::advice, fmt::format("{} of {} cores compute", threads, cores),
                   facts.with("--threads", fmt::format("{}", cores)),
                   computing * (1 - threads / cores) * kScaling});
}

void judge_loading(const Facts& facts, std::vector<Check>& found) {
  const double share = facts.share_of_window(facts.row("waiting for a batch", "total_s"));
  const double workers = facts.fact("workers"), cores = facts.fact("usable_cores");
  if (workers > 2 * cores && workers > 4) {
    found.push_back({"loader's threads", Status::advice,
                     fmt::format("{} threads make batches on {} cores", workers, cores),
                     facts.with("--dataloader_num_workers", "1"), share});
  } else if (share > 0.1) {
    found.push_back({"loading", Status::advice,
                     fmt::format("steps wait for batches for {} of the time, which {} threads make",
                                 percent(share), workers),
                     facts.with("--dataloader_num_workers", fmt::format("{}", workers + 1)),
                     share * workers / (workers + 1)});
  }
}

void judge_precision(const Facts& facts, std::vector<Check>& found) {
  const double gain = facts.fact("bf16_times_as_fast");
  if (!facts.trains() || facts.fact("dtype_bits") != 32 || gain < 1.2) return;
  double products = 0;
  for (const char* name : {"linear", "linear_input_gradient", "linear_weight_gradient"}) {
    products += std::max(facts.row(name, "self_s"), facts.row(name, "device_s"));
  }
  const double share = facts.share_of_window(products);
  if (share <= 0) return;
  found.push_back({"precision", Status::advice,
                   fmt::format("products take {} of a step in fp32; bf16's are {:.1f} times as "
                               "fast on this machine",
                               percent(share), gain),
                   facts.with("--bf16", ""), share * (1 - 1 / gain)});
}

void judge_batch(const Facts& facts, std::vector<Check>& found) {
  constexpr double kFewTokens = 256;
  const double tokens = facts.fact("tokens_per_batch"), samples = facts.fact("samples_per_batch");
  if (!facts.trains() || tokens < 1 || tokens >= kFewTokens || samples <= 0) return;
  const double update = facts.share(facts.other("optimizer"));
  const double times = std::ceil(kFewTokens / tokens);
  found.push_back({"batch size", Status::advice,
                   fmt::format("a batch has {:.0f} tokens, and updates take {} of the time", tokens,
                               percent(update)),
                   facts.with("--per_device_train_batch_size",
                              fmt::format("{:.0f}", std::ceil(samples * times))),
                   update * (1 - 1 / times)});
}

void judge_surroundings(const Facts& facts, std::vector<Check>& found) {
  if (const double stolen = facts.fact("stolen_share"); stolen >= 0.01) {
    found.push_back({"neighbours", Status::advice,
                     fmt::format("other guests took {} of the processors' time", percent(stolen))});
  }
  if (const double stopped = facts.share(facts.fact("throttled_s")); stopped >= 0.02) {
    found.push_back({"processor quota", Status::advice,
                     fmt::format("threads were stopped for {} of the time by a quota of {:.2f} "
                                 "cores",
                                 percent(stopped), facts.fact("quota_cores")),
                     facts.with("--threads", fmt::format("{}", facts.fact("usable_cores"))), 0});
  }
  const double limit = facts.fact("memory_limit");
  if (limit > 0 && facts.memory("peak_resident") > 0.9 * limit) {
    found.push_back({"memory", Status::advice,
                     fmt::format("{:.0f} MB of {:.0f} MB that may be used",
                                 facts.memory("peak_resident") / 1e6, limit / 1e6),
                     facts.trains() ? facts.with("--gradient_checkpointing", "") : ""});
  }
  const double bytes = facts.fact("checkpoint_bytes");
  const double seconds = facts.overlapped("writing a checkpoint");
  constexpr double kSlowDisk = 50e6;
  if (bytes > kSlowDisk / 10 && seconds > 0 && bytes / seconds < kSlowDisk) {
    found.push_back(
        {"disk", Status::advice,
         fmt::format("checkpoints were written at {:.0f} MB/s", bytes / seconds / 1e6)});
  }
}

}  // namespace

std::vector<Check> diagnose(const Json& profile, const std::string& file) {
  const Facts facts(profile, file);
  std::vector<Check> found;
  judge_interval(facts, "evaluations", facts.stage("evaluation"), facts.fact("evaluations"),
                 "--eval_steps", found);
  judge_interval(facts, "checkpoints", facts.other("checkpoint"), facts.fact("checkpoints"),
                 "--save_steps", found);
  judge_threads(facts, found);
  judge_loading(facts, found);
  judge_precision(facts, found);
  judge_batch(facts, found);
  judge_surroundings(facts, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Check& a, const Check& b) { return a.gain > b.gain; });
  if (found.empty()) {
    found.push_back({"run", Status::ok,
                     fmt::format("nothing stands out in {:.1f} s: forward {}, backward {}",
                                 facts.wall(), percent(facts.share(facts.stage("forward"))),
                                 percent(facts.share(facts.stage("backward"))))});
  }
  return found;
}

}  // namespace hone::cli

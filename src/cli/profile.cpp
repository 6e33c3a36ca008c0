#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/version.h"
#include "profile/machine_watch.h"
#include "profile/profile_file.h"
#include "profile/trace.h"
#include "report/report.h"

namespace hone::cli {
namespace {

constexpr std::array<std::string_view, 5> kProfiled = {"train", "eval", "predict", "embed",
                                                       "serve"};
constexpr int64_t kMostSteps = 1'000'000;

struct ProfileFlags {
  std::string output = "hone-profile";
  profile::RecorderOptions recorder;
  bool quiet = false;
};

const Command& profiled_command(const Words& words) {
  if (words.empty()) {
    fail(ErrorKind::usage, "COMMAND: missing; write it behind --, as in hone profile -- train ...");
  }
  const auto same = [&](const auto& name) { return words.front() == name; };
  const auto list = commands();
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Command& command) { return same(command.name); });
  if (std::none_of(kProfiled.begin(), kProfiled.end(), same) || found == list.end()) {
    fail(ErrorKind::usage, "COMMAND: expected train, eval, predict, embed or serve, got {}",
         quote(words.front()));
  }
  return *found;
}

/// Writes a trace. A disk that is full ends the trace alone: what was profiled is done.
void try_trace(const std::string& path, const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    fmt::print(stderr, "hone: {}: not written: {}\n", path, error.what());
  }
}

void write_all(const ProfileFlags& flags, const profile::Profile& made) {
  profile::write_profile(flags.output, made);
  const std::string perfetto = flags.output + "/trace.pftrace";
  const std::string json = flags.output + "/trace.json.gz";
  try_trace(perfetto, [&] { write_perfetto_trace(perfetto, made.recorder, made.samples); });
  try_trace(json, [&] { write_json_trace(json, made.recorder); });
  const std::string page = flags.output + "/report.html";
  write_file(page, report::to_html(report::read_report(flags.output)));
  if (flags.quiet) return;
  fmt::print(stderr, "{}profile: {}\n", profile::profile_text(made), page);
}

}  // namespace

int profile(const Words& words) {
  const auto separator = std::find(words.begin(), words.end(), "--");
  ProfileFlags flags;
  Arguments arguments("profile", "Run a command and show where its time and memory go.");
  arguments.without_common();
  arguments.text("--output", "DIR", flags.output, "default hone-profile");
  arguments.integer("--skip", 0, kMostSteps, flags.recorder.skipped_steps,
                    "steps before the window; default 3");
  arguments.integer("--window", 0, kMostSteps, flags.recorder.window_steps,
                    "steps whose operations are recorded; default 10");
  arguments.flag("--quiet", flags.quiet, "print no table");
  arguments.example("hone profile -- train --task_name reviews --max_steps 50 --output_dir OUT");
  std::string answer;
  if (!arguments.parse({words.begin(), separator}, answer)) {
    print(answer);
    return kDone;
  }
  const Words rest(separator == words.end() ? separator : separator + 1, words.end());
  const Command& command = profiled_command(rest);
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  if (error) fail(ErrorKind::io, "{}: {}", flags.output, error.message());
  profile::Recorder recorder(flags.recorder);
  constexpr double kInterval = 0.1;  // seconds
  profile::UsageSampler sampler(kInterval, profile::WatchedGpu::own);
  const profile::MachineWatch machine;
  int code = kDone;
  {
    const profile::Listening listening(recorder);
    std::optional<Interruptible> interruptible;
    if (!command.has_signals) interruptible.emplace();
    code = command.run({rest.begin() + 1, rest.end()});
  }
  recorder.finish();
  machine.tell(recorder);
  write_all(flags, {recorder, sampler.stop(), rest, version_line()});
  return code;
}

}  // namespace hone::cli

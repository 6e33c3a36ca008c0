#include "cli/doctor_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace hone::cli {
namespace {

constexpr uint64_t kMostProfileBytes = uint64_t{1} << 26;

struct DoctorFlags {
  std::string model, data, output = ".", profile;
};

std::vector<Check> examine(const DoctorFlags& flags) {
  std::vector<Check> checks;
  const auto add = [&](std::vector<Check> more) {
    std::move(more.begin(), more.end(), std::back_inserter(checks));
  };
  if (!flags.profile.empty()) {
    const std::string path =
        folder_exists(flags.profile) ? flags.profile + "/profile.json" : flags.profile;
    add(diagnose(parse_json(read_file(path, kMostProfileBytes), path), path));
    return checks;
  }
  add(check_machine());
  add(check_disk(flags.output));
  if (!flags.model.empty()) add(check_model(flags.model));
  if (!flags.data.empty()) add(check_data(flags.data));
  return checks;
}

std::string as_json(const std::vector<Check>& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    Json json = {{"name", check.name},
                 {"status", status_name(check.status)},
                 {"evidence", check.evidence},
                 {"command", check.command}};
    if (check.gain > 0) json["gain"] = check.gain;
    list.push_back(std::move(json));
  }
  return json_line({{"checks", std::move(list)}});
}

std::string as_text(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    text += fmt::format("{:<8}{:<20}{}\n", status_name(check.status), check.name, check.evidence);
    if (check.gain > 0) {
      text += fmt::format("{:<28}saves about {:.0f}% of the time\n", "", 100 * check.gain);
    }
    if (!check.command.empty()) text += fmt::format("{:<28}{}\n", "", check.command);
  }
  return text;
}

}  // namespace

int doctor(const Words& words) {
  DoctorFlags flags;
  Arguments arguments("doctor", "Look for what is wrong or slow here, or in a profiled run.");
  arguments.text("--model,--model_name_or_path", "DIR", flags.model, "look at this model too");
  arguments.text("--data,--train_file", "FILE", flags.data, "look at this labelled file too");
  arguments.text("--output_dir", "DIR", flags.output, "where runs will be written; default .");
  arguments.text("--profile", "DIR", flags.profile, "judge what hone profile wrote, and no more");
  arguments.example("hone doctor --profile hone-profile");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  const std::vector<Check> checks = examine(flags);
  print(arguments.common().json ? as_json(checks) : as_text(checks));
  const bool bad = std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.status == Check::Status::error;
  });
  return bad ? kFailed : kDone;
}

}  // namespace hone::cli

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/study_money.h"
#include "cli/version.h"
#include "io/folder.h"
#include "report/json_lines_file.h"
#include "report/study_pictures.h"
#include "study/energy.h"
#include "study/published.h"
#include "study/run_study.h"

namespace hone::cli {
namespace {

constexpr int64_t kLargestCount = int64_t{1} << 40;

struct StudyFlags {
  std::string name, output = "hone-study", from, points, prices, carbon;
  int64_t repeats = 3, seed = 42;
  double deadline = 0;
  bool dry_run = false;
  study::StudySettings settings;
};

void declare_study(Arguments& arguments, StudyFlags& flags) {
  study::StudySettings& settings = flags.settings;
  arguments.positional("NAME", flags.name, "a study, or list (default) for all");
  arguments.text("--output", "DIR", flags.output, "records and page; default hone-study");
  arguments.text("--from", "FILE", flags.from, "run nothing: show these records, or published");
  arguments.integer("--repeats", 1, 1000, flags.repeats, "of each case; default 3");
  arguments.flag("--dry_run", flags.dry_run, "print the commands alone");
  arguments.texts("--model,--model_name_or_path", "DIR", settings.models,
                  "to study, may be given again; default: new ones");
  arguments.text("--task_name", "TASK", settings.task, "default: the built-in reviews");
  arguments.text("--data", "PATH", settings.data, "the task's folder; prepare: raw reviews");
  arguments.integer("--max_steps", 1, kLargestCount, settings.max_steps, "of each training");
  arguments.integer("--per_device_train_batch_size", 1, 1 << 20, settings.batch, "of each");
  arguments.text("--points", "N,N,...", flags.points, "workers, ranks or layers to go through");
  arguments.real("--target_loss", 0, 1e9, settings.target_loss, "time the way to it, too");
  arguments.integer("--seed", 0, kLargestCount, flags.seed, "of the first repeat; default 42");
  arguments.text("--prices", "FILE", flags.prices,
                 "money: device, per_hour, currency, date, source");
  arguments.real("--deadline", 0, 1e12, flags.deadline, "money: the cheapest within these seconds");
  arguments.text("--carbon", "FILE", flags.carbon, "g_per_kwh and pue: CO2 of each run");
  arguments.example("hone study loader --output OUT -- --max_seq_length 64");
}

std::vector<int64_t> parse_points(const std::string& text) {
  std::vector<int64_t> points;
  if (text.empty()) return points;
  constexpr int64_t kLargest = 1024;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    int64_t value = -1;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || stop != part.data() + part.size() || value < 0 ||
        value > kLargest) {
      fail(ErrorKind::usage, "--points: expected whole numbers up to {} with commas, got {}",
           kLargest, quote(part));
    }
    points.push_back(value);
    begin = end + 1;
  }
  return points;
}

std::string list_of_studies() {
  std::string text;
  for (const study::Study& each : study::studies()) {
    text += fmt::format("{:<15}{}\n", each.name, each.shows);
  }
  return text + fmt::format("{:<15}{}\n{:<15}{}\n", "money",
                            "what runs of records cost, by a file of prices", "simulate",
                            "larger numbers of ranks, modelled from records of scale");
}

/// Prints a study's section and writes its page, beside the published figures.
void show(const StudyFlags& flags, const CommonOptions& common,
          const std::vector<report::StudyRuns>& studies) {
  for (const report::StudyRuns& each : studies) {
    if (each.name != flags.name) continue;
    return show_section(report::study_section(each), flags.name, flags.output, common);
  }
  fail(ErrorKind::bad_file, "--from: {} has no records of the study {}", flags.from, flags.name);
}

/// Reads the records that the user names, and the published ones of this study.
std::vector<report::StudyRuns> records_from(const StudyFlags& flags) {
  std::vector<report::StudyRuns> studies;
  if (flags.from != "published") {
    studies = report::read_records({records_path(flags.from)});
  }
  for (const Json& record : study::published_records(flags.name)) {
    report::add_record(record, "published", studies);
  }
  return studies;
}

int dry_run(const StudyFlags& flags, const study::Study& chosen) {
  for (const study::Case& each : chosen.cases(flags.settings)) {
    print(each.missing.empty()
              ? study::shown(each.commands, flags.settings.seed) + "\n"
              : fmt::format("# not available: {}: {}\n", each.fields.dump(), each.missing));
  }
  return kDone;
}

/// Finds the models; fails for what would make every case fail.
void check_settings(StudyFlags& flags) {
  for (std::string& model : flags.settings.models) model = io::resolve_model(model);
  const std::string& data = flags.settings.data;
  if (!data.empty() && !folder_exists(data) && !file_exists(data)) {
    fail(ErrorKind::bad_file, "--data: {}: is not there", data);
  }
}

/// Writes what `hone report` draws beside records.jsonl.
void write_published(const StudyFlags& flags) {
  std::string lines;
  for (const Json& record : study::published_records(flags.name)) lines += json_line(record);
  if (!lines.empty()) write_file(flags.output + "/published.jsonl", lines);
}

int run_all(StudyFlags& flags, const CommonOptions& common) {
  const study::Study& chosen = study::find_study(flags.name);
  check_settings(flags);
  if (flags.dry_run) return dry_run(flags, chosen);
  study::StudyRun how{.repeats = flags.repeats, .version = version_line()};
  if (!flags.carbon.empty()) how.carbon = study::read_carbon(flags.carbon);
  make_output_folder(flags.output);
  const std::string path = flags.output + "/records.jsonl";
  {
    study::RecordFile records(path);
    if (!records.dropped().empty()) warn(common.quiet, records.dropped());
    how.run = [](const study::Words& words) { return run_child(own_program(), words); };
    how.say = [&](int64_t done, int64_t all, const std::string& line) {
      warn(common.quiet, fmt::format("{} of {}: {}", done, all, line));
    };
    const std::string scratch = flags.output + "/.hone-study-runs";
    std::error_code ignored;
    std::filesystem::remove_all(scratch, ignored);  // what a killed study left
    run_study(chosen, flags.settings, how, scratch, records);
    std::filesystem::remove_all(scratch, ignored);
  }
  write_published(flags);
  const std::string emissions = study::emissions_csv(report::read_json_lines(path));
  if (!flags.carbon.empty()) write_file(flags.output + "/emissions.csv", emissions);
  flags.from = path;
  show(flags, common, records_from(flags));
  return kDone;
}

}  // namespace

int study(const Words& words) {
  const auto separator = std::find(words.begin(), words.end(), "--");
  StudyFlags flags;
  Arguments arguments("study",
                      "Measures many cases, each several times in a process of its own, and shows "
                      "them.\nWhat follows -- goes to every training.");
  declare_study(arguments, flags);
  std::string answer;
  if (!arguments.parse({words.begin(), separator}, answer)) {
    print(answer);
    return kDone;
  }
  const CommonOptions& common = arguments.common();
  if (flags.name.empty() || flags.name == "list") {
    print(list_of_studies());
    return kDone;
  }
  if (separator != words.end()) flags.settings.more.assign(separator + 1, words.end());
  flags.settings.points = parse_points(flags.points);
  flags.settings.seed = static_cast<uint64_t>(flags.seed);
  flags.settings.device = common.device;
  flags.settings.threads = common.threads;
  if (flags.name == "money") {
    return study_money({flags.from, flags.prices, flags.output, flags.deadline}, common);
  }
  if (flags.name == "simulate") {
    return study_simulate(flags.from, flags.output, common);
  }
  if (!flags.from.empty()) {
    study::find_study(flags.name);
    show(flags, common, records_from(flags));
    return kDone;
  }
  return run_all(flags, common);
}

}  // namespace hone::cli

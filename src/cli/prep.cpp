#include "prep/prep.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "device/cpu_info.h"
#include "device/memory.h"
#include "prep/launch.h"
#include "prep/pipes.h"

namespace hone::cli {
namespace {

constexpr int64_t kMostWords = 50'000'000;
constexpr int64_t kMostProcesses = 1024;

struct PrepFlags {
  std::string stage, vocabulary, format;
  int64_t processes = 1;
  prep::PrepOptions options;
};

void declare_prep(Arguments& arguments, PrepFlags& flags) {
  prep::PrepOptions& options = flags.options;
  arguments.positional("STAGE", flags.stage, "map or reduce: one half, from - to -, over pipes");
  arguments.lists("--input", "FILE...", options.inputs, "JSON lines, CSV or TSV; .gz, .xz");
  arguments.text("--output", "DIR", options.output, "where the store is written, or completed");
  arguments.text("--vocabulary", "N|FILE", flags.vocabulary,
                 "the N commonest words, or those of a file");
  arguments.text("--tokenizer", "FILE", options.tokenizer, "tokenizer.json, or its folder");
  arguments.text("--text_field", "NAME", options.fields.text, "default: reviewText");
  arguments.text("--label_field", "NAME", options.fields.label, "default: overall; '': no labels");
  arguments.integer("--max_length", 1, 1 << 16, options.max_length, "most ids a row; default 100");
  arguments.text("--stop_words", "NAME", options.stop_words, "english (default), none, or a file");
  arguments.text("--format", "NAME", flags.format, "jsonl, csv or tsv; default: by extension");
  arguments.integer("--processes", 1, kMostProcesses, flags.processes,
                    "start so many on this host; --threads are each one's");
  arguments.real("--comm_timeout", 1, 86400, options.timeout,
                 "seconds until a silent process is given up; default 60");
  arguments.example("hone prep --input reviews.jsonl.gz --output STORE --vocabulary 10000");
}

void take_vocabulary(PrepFlags& flags) {
  const std::string& given = flags.vocabulary;
  if (given.empty()) return;
  if (given.find_first_not_of("0123456789") != given.npos) {
    flags.options.vocabulary_file = given;
    return;
  }
  int64_t& size = flags.options.vocabulary_size;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), size);
  if (error != std::errc() || size < 1 || size > kMostWords) {
    fail(ErrorKind::usage, "--vocabulary: expected 1 to {} words or a file, got {}", kMostWords,
         quote(given));
  }
}

class PrepDisplay : public prep::PrepObserver {
 public:
  explicit PrepDisplay(bool quiet) : quiet_(quiet) {}
  void progress(std::string_view stage, int64_t done, int64_t total) override {
    if (stage != stage_) {
      stage_ = stage;
      progress_.reset();
      progress_.emplace("prep " + stage_, fmt::format("of {}", total), quiet_);
    }
    progress_->update(done);
  }

 private:
  bool quiet_;
  std::string stage_;
  std::optional<Progress> progress_;
};

void print_result(const prep::PrepResult& result, const PrepFlags& flags, double seconds,
                  bool json) {
  const double rate = static_cast<double>(result.bytes) / 1e6 / seconds;
  if (json) {
    print(json_line({{"records", result.records},
                     {"empty", result.empty},
                     {"duplicates", result.duplicates},
                     {"rows", result.rows},
                     {"vocabulary", result.words},
                     {"shards", result.shards},
                     {"bytes", result.bytes},
                     {"seconds", seconds},
                     {"mb_per_second", rate},
                     {"peak_rss_bytes", peak_resident_bytes()}}));
    return;
  }
  print(
      fmt::format("{}/index.h5: {} rows of {} records ({} without words, {} there before), {} "
                  "shards, {:.1f} s, {:.0f} MB/s\n",
                  flags.options.output, result.rows, result.records, result.empty,
                  result.duplicates, result.shards, seconds, rate));
}

int run_stage(const PrepFlags& flags) {
  const prep::PrepOptions& options = flags.options;
  if (flags.stage != "map" && flags.stage != "reduce") {
    fail(ErrorKind::usage, "prep: expected map or reduce, got {}", quote(flags.stage));
  }
  if (options.vocabulary_size > 0) {
    fail(ErrorKind::usage, "--vocabulary: expected a file; only a whole run counts words");
  }
  if (!options.output.empty() || options.inputs.size() > 1) {
    fail(ErrorKind::usage, "prep {}: reads --input FILE or standard input, writes standard output",
         flags.stage);
  }
  const std::string input = options.inputs.empty() ? "-" : options.inputs[0];
  const std::string name = input == "-" ? "standard input" : input;
  Output output("");
  const auto take = [&](std::string_view line) { output.write(line); };
  prep::PrepOptions chosen = options;
  if (!chosen.format && input != "-") chosen.format = data::format_of(input);
  (flags.stage == "map" ? prep::map_lines : prep::reduce_lines)(data::open_bytes(input), name,
                                                                chosen, take);
  output.finish();
  return kDone;
}

}  // namespace

int prep(const Words& words) {
  PrepFlags flags;
  Arguments arguments("prep", "Raw reviews become a store of entries to train on.");
  declare_prep(arguments, flags);
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  take_vocabulary(flags);
  if (!flags.format.empty()) flags.options.format = data::parse_format(flags.format);
  if (!flags.stage.empty()) return run_stage(flags);
  const prep::Ranks ranks = prep::ranks_of_environment();
  if (flags.processes > 1 && ranks.size == 1) {
    Words same = words;
    same.insert(same.begin(), "prep");
    return prep::run_processes(static_cast<int>(flags.processes), same);
  }
  const CommonOptions& common = arguments.common();
  const int cores = std::max(1, usable_cores() / static_cast<int>(flags.processes));
  flags.options.threads = common.threads > 0 ? common.threads : cores;
  PrepDisplay display(common.quiet || ranks.rank != 0);
  const Stopwatch watch;
  const prep::PrepResult result = prep::run(flags.options, ranks, display);
  if (ranks.rank == 0) print_result(result, flags, watch.seconds(), common.json);
  return kDone;
}

}  // namespace hone::cli

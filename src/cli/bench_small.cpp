#include "cli/bench_small.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/byte_size.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "device/cpu_info.h"
#include "io/folder.h"
#include "models/convert.h"
#include "models/packed_file.h"
#include "study/small_report.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == mark) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Reads "int8+exits+32MB".
study::SmallVariant parse_variant(const std::string& name) {
  const std::vector<std::string> parts = split(name, '+');
  study::SmallVariant variant;
  bool known = false;
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8}) {
    if (parts[0] != dtype_name(dtype)) continue;
    variant.dtype = dtype;
    known = true;
  }
  if (!known) {
    fail(ErrorKind::usage, "--variant: expected fp32, bf16 or int8 first, got {}", quote(name));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "exits") {
      variant.exits = true;
    } else {
      variant.budget = parse_bytes("--variant", parts[i]);
    }
  }
  return variant;
}

int measure_one(const SmallFlags& flags, const CommonOptions& common, const data::Task* task) {
  study::SmallOptions options;
  options.threads = common.threads;
  options.max_length = flags.max_length;
  options.evaluate.max_samples = flags.max_samples;
  if (task) {
    options.evaluate.task_labels = task->labels;
    options.evaluate.metrics = task->metrics;
  }
  options.open = [&] { return std::move(open_sets(flags.data, task).front().records); };
  const study::SmallResult result =
      study::measure_small(flags.model, parse_variant(flags.variant), options);
  print(study::to_json(result).dump() + "\n");
  return kDone;
}

/// Runs variants of one model, each in a process of its own.
class SmallRun {
 public:
  SmallRun(const SmallFlags& flags, const CommonOptions& common, std::string folder)
      : flags_(flags),
        common_(common),
        model_(models::open_model_folder(folder)),
        folder_(std::move(folder)),
        packed_(file_exists(model_.path + "/" + models::kPackedName)),
        scratch_((fs::temp_directory_path() / fmt::format("hone-bench-{}", ::getpid())).string()) {}

  std::vector<study::SmallResult> all(const std::vector<uint64_t>& budgets) {
    std::vector<study::SmallResult> results;
    const bool has_exits = model_.config->exits.method != models::ExitMethod::none;
    for (const bool exits : has_exits ? std::vector{false, true} : std::vector{false}) {
      for (const DType dtype : dtypes()) {
        const study::SmallResult free = measure({dtype, exits, 0});
        results.push_back(free);
        for (const uint64_t budget : budgets) {
          // A budget that is not felt is no variant.
          if (budget < free.peak_bytes) results.push_back(measure({dtype, exits, budget}));
        }
      }
    }
    return results;
  }

 private:
  std::vector<DType> dtypes() const {
    if (!packed_) return {DType::f32, DType::bf16, DType::i8};
    return {models::PackedFile(model_.path + "/" + models::kPackedName).dtype()};
  }

  /// Gives the packed file of a dtype, made when it is first wanted. An adapter's folder cannot be
  /// packed and streams as it is.
  std::string stream_folder(DType dtype) {
    if (packed_ || !model_.adapter.empty()) return folder_;
    std::string to = scratch_.partial() + "/" + std::string(dtype_name(dtype));
    if (!folder_exists(to)) {
      say(fmt::format("packing {} to be streamed", dtype_name(dtype)));
      models::ConvertOptions options;
      options.dtype = dtype;
      options.kept = model_.config->quantization.kept;
      options.stream = true;
      models::convert_folder(folder_, to, options);
    }
    return to;
  }

  void say(const std::string& what) const { warn(common_.quiet, "bench: " + what); }

  study::SmallResult measure(const study::SmallVariant& variant) {
    const std::string folder = variant.budget > 0 ? stream_folder(variant.dtype) : folder_;
    Words words = {"bench", "--small", folder, "--variant", variant.name(), "--quiet"};
    const auto add = [&](const char* flag, const std::string& value) {
      words.insert(words.end(), {flag, value});
    };
    if (!flags_.data.folder.empty()) add("--data", flags_.data.folder);
    if (!flags_.data.task.empty()) add("--task_name", flags_.data.task);
    if (!flags_.data.split.empty()) add("--split", flags_.data.split);
    if (flags_.max_length > 0) add("--max_seq_length", std::to_string(flags_.max_length));
    if (flags_.max_samples > 0) add("--max_eval_samples", std::to_string(flags_.max_samples));
    if (common_.threads > 0) add("--threads", std::to_string(common_.threads));
    const ChildResult child = run_child(own_program(), words);
    if (child.code != kDone) return refused(variant, child);
    study::SmallResult result = study::small_result(variant, parse_json(child.out, variant.name()));
    say(fmt::format("{}: {:.1f} MB, {:.2f} ms, {:.0f} texts/s, {} {:.4f}", variant.name(),
                    static_cast<double>(result.peak_bytes) / 1e6, result.p50_ms, result.per_second,
                    result.metric, result.score));
    return result;
  }

  /// Gives a refused variant. Only a budget may be refused; anything else is wrong with all
  /// variants.
  study::SmallResult refused(const study::SmallVariant& variant, const ChildResult& child) const {
    std::string why = child.err;
    while (!why.empty() && why.back() == '\n') why.pop_back();
    if (why.starts_with("hone: ")) why.erase(0, 6);
    if (child.code != kUserError || variant.budget == 0) {
      fail(child.code == kUserError ? ErrorKind::usage : ErrorKind::failed, "{}: {}",
           variant.name(), why.empty() ? fmt::format("ended with code {}", child.code) : why);
    }
    say(fmt::format("{}: {}", variant.name(), why));
    study::SmallResult result{.variant = variant};
    result.refused = why;
    return result;
  }

  const SmallFlags& flags_;
  const CommonOptions& common_;
  models::ModelFolder model_;
  std::string folder_;
  bool packed_;
  OutputFolder scratch_;  ///< never committed: gone at the end, or at an interrupt
};

std::string base_name(const std::string& path) {
  const fs::path whole = fs::path(path).lexically_normal();
  return (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
}

}  // namespace

bool SmallFlags::given() const {
  return !model.empty() || !data.folder.empty() || !data.task.empty() || !output.empty() ||
         !variant.empty();
}

void declare(Arguments& arguments, SmallFlags& flags) {
  arguments.text("--small", "DIR", flags.model, "report on a model in little memory, over --data");
  arguments.text("--data", "PATH", flags.data.folder, "labelled file, or the task's folder");
  arguments.text("--task_name", "TASK", flags.data.task, "of a folder: sst2, mrpc, ...");
  arguments.text("--split", "NAME", flags.data.split, "of the task; default: validation");
  arguments.text("--budgets", "LIST", flags.budgets, "of memory; default 32MB,64MB,128MB");
  arguments.text("--output", "DIR", flags.output,
                 "new folder for report.md .csv .json .svg,\nand exit_cost.json for --exit_cost");
  arguments.text("--variant", "NAME", flags.variant, "measure one alone, such as int8+exits+32MB");
  arguments.integer("--max_seq_length", 1, 1 << 20, flags.max_length,
                    "most tokens of a text; default: the model's");
  arguments.integer("--max_eval_samples", 1, int64_t{1} << 40, flags.max_samples, "default: all");
}

int bench_small(SmallFlags flags, const CommonOptions& common) {
  if (flags.model.empty()) fail(ErrorKind::usage, "--small: missing; the folder of a model");
  if (flags.data.folder.empty() && flags.data.task != "reviews") {
    fail(ErrorKind::usage, "--data: missing; a labelled file, or a folder with --task_name");
  }
  if (flags.data.task.empty()) {
    if (folder_exists(flags.data.folder)) {
      fail(ErrorKind::usage, "--task_name: missing; which task's files to take of {}",
           flags.data.folder);
    }
    flags.data.validation_file = flags.data.folder;
  }
  const data::Task* task = task_of(flags.data);
  open_sets(flags.data, task);  // so that a mistake is told before the long work
  if (!flags.variant.empty()) return measure_one(flags, common, task);
  std::vector<uint64_t> budgets;
  for (const std::string& size : split(flags.budgets, ',')) {
    budgets.push_back(parse_bytes("--budgets", size));
  }
  if (!flags.output.empty()) {
    const OutputFolder possible(flags.output);
  }
  study::SmallReport report;
  report.model = base_name(flags.model);
  report.data = task ? task->name : base_name(flags.data.folder);
  report.machine = cpu_info().name;
  report.threads = common.threads > 0 ? common.threads : usable_cores();
  report.summary = models::open_model_folder(io::resolve_model(flags.model)).config->summary();
  report.results = SmallRun(flags, common, io::resolve_model(flags.model)).all(budgets);
  if (!flags.output.empty()) study::write_report(report, flags.output);
  print(common.json ? study::to_json(report).dump() + "\n" : study::to_markdown(report));
  return kDone;
}

}  // namespace hone::cli

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "base/error.h"
#include "base/json_text.h"
#include "cli/answering.h"
#include "cli/byte_size.h"
#include "cli/commands.h"
#include "cli/eval_data.h"
#include "cli/eval_explain.h"
#include "cli/exit_code.h"
#include "cli/exit_flags.h"
#include "cli/image_flags.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/trees.h"
#include "device/memory.h"
#include "infer/evaluate.h"
#include "models/tree_parser.h"
#include "profile/recorder.h"

namespace hone::cli {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

struct EvalOptions {
  std::string model;
  data::LabelledData data;
  int64_t max_length = 0;
  int64_t batch_size = 8;
  int64_t max_samples = -1;
  bool no_truncate = false;
  std::string memory_budget;
  bool no_plan = false;
  ExitFlags exits;
  ExplainFlags explain;
  image::DecodeLimits image_limits;
};

/// The results of a model with exits; `all_layers` only where there was a deadline, to show what it
/// cost.
struct ExitResult {
  double layers = 0;
  double deadline_ms = 0;
  double late = 0;
  std::vector<std::pair<std::string, double>> all_layers;
};

void declare(Arguments& arguments, EvalOptions& options) {
  arguments.text("--model,--model_name_or_path", "DIR", options.model,
                 "model folder, or name in the local cache");
  declare(arguments, options.data);
  arguments.integer("--max_seq_length", 1, 1 << 20, options.max_length,
                    "most tokens of a text; default: the model's");
  arguments.flag("--no-truncate", options.no_truncate, "refuse longer texts instead of cutting");
  arguments.text("--memory-budget", "SIZE", options.memory_budget,
                 "most memory to use, such as 64MB: streams weights");
  arguments.integer("--max_eval_samples", 1, kMost, options.max_samples, "default: all");
  arguments.integer("--per_device_eval_batch_size", 1, 1 << 16, options.batch_size,
                    "for scripts: texts are packed by their tokens");
  declare(arguments, options.exits);
  declare(arguments, options.explain);
  declare(arguments, options.image_limits);
  arguments.flag("--no_plan", options.no_plan, kNoPlanHelp);
  arguments.example("hone eval --model DIR --task_name sst2 --data glue --json");
}

std::string metrics_json(const std::vector<std::pair<std::string, double>>& metrics) {
  std::string out = "{";
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (i > 0) out += ',';
    append_json(out, std::string_view(metrics[i].first));
    out += ':';
    append_json(out, metrics[i].second);
  }
  return out + "}";
}

std::string json_of(const ExitResult& exits) {
  if (exits.layers <= 0) return "";
  std::string out = ",\"mean_layers\":";
  append_json(out, exits.layers);
  if (exits.deadline_ms <= 0) return out;
  out += ",\"deadline_ms\":";
  append_json(out, exits.deadline_ms);
  out += ",\"late_share\":";
  append_json(out, exits.late);
  return out + ",\"metrics_all_layers\":" + metrics_json(exits.all_layers);
}

std::string json_of(const std::optional<infer::Faithfulness>& explained) {
  if (!explained) return "";
  return fmt::format(",\"explained\":{},\"explanations\":{}", explained->texts,
                     metrics_json(explained->metrics));
}

std::string text_of(const std::optional<infer::Faithfulness>& explained) {
  if (!explained) return "";
  std::string out = fmt::format("  explanations of {} texts with phrases\n", explained->texts);
  for (const auto& [name, value] : explained->metrics) {
    out += fmt::format("    {:<30}{:.4f}\n", name, value);
  }
  return out;
}

std::string text_of(const ExitResult& exits) {
  if (exits.layers <= 0) return "";
  std::string out = fmt::format("  {:<22}{:.2f}\n", "mean layers", exits.layers);
  if (exits.deadline_ms <= 0) return out;
  out += fmt::format("  {:<22}{:.2f}% behind {} ms\n", "late", 100 * exits.late, exits.deadline_ms);
  for (const auto& [name, value] : exits.all_layers) {
    out += fmt::format("  {:<22}{:.4f} with all layers\n", name, value);
  }
  return out;
}

std::string json_of(const data::LabelledSet& part, const infer::EvaluationResult& result,
                    bool images, const char* device, DType dtype, const std::string& more) {
  std::string out = "{\"task\":";
  append_json(out, std::string_view(part.task));
  out += ",\"split\":";
  append_json(out, std::string_view(part.split));
  out +=
      fmt::format(",\"samples\":{},\"metrics\":{}", result.samples, metrics_json(result.metrics));
  out += ",\"loss\":";
  append_json(out, result.loss);
  out += ",\"seconds\":";
  append_json(out, result.seconds);
  out += ",\"samples_per_second\":";
  append_json(out, static_cast<double>(result.samples) / result.seconds);
  if (!images) {
    out += fmt::format(",\"tokens\":{},\"truncated\":{}", result.tokens, result.truncated);
  }
  return out + fmt::format(",\"peak_rss_bytes\":{},\"device\":\"{}\",\"dtype\":\"{}\"{}}}\n",
                           peak_resident_bytes(), device, dtype_name(dtype), more);
}

std::string text_of(const data::LabelledSet& part, const infer::EvaluationResult& result,
                    bool images, DType dtype, const std::string& more) {
  std::string out = fmt::format("{} {}: {} samples", part.task, part.split, result.samples);
  if (!images) out += fmt::format(", {} tokens, {} truncated", result.tokens, result.truncated);
  out += '\n';
  for (const auto& [name, value] : result.metrics)
    out += fmt::format("  {:<22}{:.4f}\n", name, value);
  return out + more +
         fmt::format("  {:<22}{:.4f}\n  {:<22}{:.2f} s, {:.1f} samples/s, {}\n  {:<22}{:.0f} MB\n",
                     "loss", result.loss, "time", result.seconds,
                     static_cast<double>(result.samples) / result.seconds, dtype_name(dtype),
                     "peak memory", static_cast<double>(peak_resident_bytes()) / 1e6);
}

}  // namespace

int eval(const Words& words) {
  Arguments arguments("eval",
                      "Scores a classifier. --json prints one object for each set, one a line.");
  EvalOptions options;
  declare(arguments, options);
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  const CommonOptions& common = arguments.common();
  require_model(options.model);
  check(options.explain, options.model);
  if (models::is_parser_folder(options.model)) {
    return eval_trees(common, options.model, options.data, options.max_length, options.max_samples);
  }
  const data::Task* task = task_of(options.data);
  infer::match_samples(options.model, options.data);
  options.data.max_images = options.max_samples;
  const std::vector<data::LabelledSet> parts = open_sets(options.data, task);
  infer::SessionOptions settings;
  settings.dtype = common.wanted_dtype();
  settings.device = common.device;
  settings.tuning = common.tuning;
  settings.threads = common.threads;
  settings.max_length = options.max_length;
  settings.planned = !options.no_plan;
  settings.image_limits = options.image_limits;
  apply(options.exits, settings);
  if (!options.memory_budget.empty()) {
    settings.memory_budget = parse_bytes("--memory-budget", options.memory_budget);
  }
  std::optional<profile::Span> opening(std::in_place, "opening the model", profile::Stage::loading);
  std::optional<infer::SelfExplainer> explainer;
  std::optional<infer::Session> opened;
  if (options.explain.on) {
    explainer.emplace(options.model, settings, infer::SelfExplainerOptions{});
  } else {
    opened.emplace(options.model, settings);
  }
  infer::Session& session = explainer ? explainer->session() : *opened;
  opening.reset();
  for (size_t i = 0; i < parts.size(); ++i) {
    const data::LabelledSet& part = parts[i];
    Progress progress("hone eval " + part.task, "samples", common.quiet);
    infer::EvaluateOptions how;
    if (task) {
      how.task_labels = task->labels;
      how.metrics = task->metrics;
    }
    if (options.data.images && !task && session.config().problem == ProblemType::single_label) {
      how.metrics = data::image_metrics();
    }
    how.max_samples = options.max_samples;
    how.truncate = !options.no_truncate;
    how.deadline = settings.deadline;
    how.progress = [&](int64_t samples) { progress.update(samples); };
    const infer::EvaluationResult result = infer::evaluate(session, *part.records, how);
    if (result.samples == 0) fail(ErrorKind::bad_file, "{}: {}: no samples", part.task, part.split);
    const DType dtype = session.model().dtype();
    ExitResult exits{result.layers, options.exits.deadline_ms, result.late, {}};
    if (settings.deadline > 0) {
      infer::SessionOptions whole = settings;
      whole.exits = false;
      whole.deadline = 0;
      infer::Session all_layers(options.model, whole);
      how.deadline = 0;
      const data::LabelledSet again = std::move(open_sets(options.data, task)[i]);
      exits.all_layers = infer::evaluate(all_layers, *again.records, how).metrics;
    }
    std::optional<infer::Faithfulness> explained;
    if (explainer) {
      const data::LabelledSet again = std::move(open_sets(options.data, task)[i]);
      explained = measure(options.explain, task, part.split, *again.records, options.max_samples,
                          *explainer);
    }
    const char* device = session.on_gpu() ? "cuda" : "cpu";
    print(common.json ? json_of(part, result, options.data.images, device, dtype,
                                json_of(exits) + json_of(explained))
                      : text_of(part, result, options.data.images, dtype,
                                text_of(exits) + text_of(explained)));
  }
  warn_unexpected(common.quiet, session);
  return kDone;
}

}  // namespace hone::cli

#include "models/convert.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/byte_size.h"
#include "cli/commands.h"
#include "cli/eval_data.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "io/folder.h"
#include "models/folder.h"
#include "study/choose_int8.h"
#include "study/exit_curve.h"

namespace hone::cli {
namespace {

struct ConvertWords {
  std::string model;
  std::string output;
  std::string shard = "5GB";
  std::string format = "safetensors";
  data::LabelledData data;
  double max_drop = 0.5;
  bool mixed = false;
  bool exits = false;
  double target_drop = 0.3;
  double target_layers = 0, target_ms = 0;
  int64_t max_length = 0;
  int64_t max_samples = -1;
  bool stream = false;
};

void declare(Arguments& arguments, ConvertWords& options) {
  arguments.text("--model,--model_name_or_path", "DIR", options.model,
                 "model folder, or name in the local cache");
  arguments.text("--output,--output_dir", "DIR", options.output,
                 "new folder; appears complete or not at all");
  arguments.text("--max-shard-size", "SIZE", options.shard, "most bytes of a file; default 5GB");
  arguments.text("--format", "NAME", options.format, "safetensors (default)");
  arguments.real("--max-drop", 0, 100, options.max_drop,
                 "int8: points it may cost on the data; default 0.5");
  arguments.flag("--mixed", options.mixed, "int8: spare the parts that cost too much");
  arguments.flag("--exits", options.exits, "find when a model with early exits may stop");
  arguments.real("--target-drop", 0, 100, options.target_drop,
                 "points that exits may cost; default 0.3");
  arguments.real("--target-layers", 1, 1024, options.target_layers,
                 "or the layers that a text may take, on average");
  arguments.real("--target-ms", 1e-6, 1e6, options.target_ms, "or its milliseconds, alone");
  arguments.flag("--stream", options.stream, "one packed file, to run under --memory-budget");
  declare(arguments, options.data);
  arguments.integer("--max_seq_length", 1, 1 << 20, options.max_length,
                    "most tokens of a text; default: the model's");
  arguments.integer("--max_eval_samples", 1, int64_t{1} << 40, options.max_samples, "default: all");
  arguments.allow_fp16();
  arguments.example("hone convert --model A --output B --dtype int8 --validation_file F");
}

/// Measures the model in fp32 and in int8; too large a drop is an error.
study::Int8Choice measure_int8(const ConvertWords& options, const CommonOptions& common) {
  if (!options.data.given()) {
    fail(ErrorKind::usage,
         "--dtype: 'int8' is measured on data; name it by --task_name and --data, or by "
         "--validation_file");
  }
  data::LabelledData data = options.data;
  infer::match_samples(options.model, data);
  data.max_images = options.max_samples;
  const data::Task* task = task_of(data);
  study::Int8Options how;
  how.max_drop = options.max_drop;
  how.mixed = options.mixed;
  how.threads = common.threads;
  how.max_length = options.max_length;
  how.evaluate.max_samples = options.max_samples;
  if (task) {
    how.evaluate.task_labels = task->labels;
    how.evaluate.metrics = task->metrics;
  }
  how.open = [&] {
    std::vector<std::unique_ptr<data::RecordStream>> streams;
    for (data::LabelledSet& part : open_sets(data, task))
      streams.push_back(std::move(part.records));
    return streams;
  };
  Progress progress("hone convert", "samples", common.quiet);
  how.evaluate.progress = [&](int64_t samples) { progress.update(samples); };
  study::Int8Choice choice = study::choose_int8(options.model, how);
  if (choice.drop() > options.max_drop) {
    fail(ErrorKind::failed,
         "{}: {} falls from {:.4f} in fp32 to {:.4f} in int8{}, {:.2f} points; --max-drop allows "
         "{:.2f}{}",
         options.model, choice.metric, choice.before, choice.after,
         choice.kept.empty() ? "" : " with every part kept", choice.drop(), options.max_drop,
         options.mixed ? "" : "; --mixed keeps the parts that cost most");
  }
  return choice;
}

/// Measures a model's exits on data and stores the choice in its folder.
int calibrate_exits(const ConvertWords& given, const CommonOptions& common) {
  if (!given.output.empty()) {
    fail(ErrorKind::usage,
         "--output: --exits stores its choice in the model's folder; leave it out");
  }
  if (!given.data.given()) {
    fail(ErrorKind::usage,
         "--exits: measured on data; name it by --task_name and --data, or by --validation_file");
  }
  const data::Task* task = task_of(given.data);
  Progress progress("hone convert", "samples", common.quiet);
  study::ExitCurveOptions how;
  how.target_drop = given.target_drop;
  how.target_layers = given.target_layers;
  how.target_ms = given.target_ms;
  how.threads = common.threads;
  how.max_length = given.max_length;
  how.evaluate.max_samples = given.max_samples;
  how.evaluate.progress = [&](int64_t samples) { progress.update(samples); };
  if (task) {
    how.evaluate.task_labels = task->labels;
    how.evaluate.metrics = task->metrics;
  }
  how.open = [&] { return std::move(open_sets(given.data, task).front().records); };
  const std::string folder = io::resolve_model(given.model);
  const study::ExitCurve curve = study::measure_exits(folder, how);
  study::store_exits(folder, curve);
  if (common.json) {
    print(json_line(study::to_json(curve)));
  } else {
    print(study::to_csv(curve));
  }
  if (curve.chosen < 0) {
    fail(ErrorKind::failed, "{}: every setting of the exits loses more than {} points of {}",
         folder, given.target_drop, curve.metric);
  }
  const study::ExitPoint& best = curve.points[static_cast<size_t>(curve.chosen)];
  if (!common.json && !common.quiet) {
    print(fmt::format(
        "{}: {} ({:.2f} of {} layers, {} {:.4f} against {:.4f}), {:.2f} times as fast at batch 1, "
        "{:.2f} at batch 32\n",
        folder, best.name(), best.layers, curve.depth, curve.metric, best.score, curve.whole.score,
        curve.whole.seconds_one / best.seconds_one, curve.whole.seconds_32 / best.seconds_32));
  }
  return kDone;
}

Json json_of(const study::Int8Choice& choice) {
  Json costs = Json::object();
  for (const auto& [part, cost] : choice.costs) costs[part] = cost;
  return {{"metric", choice.metric}, {"samples", choice.samples}, {"before", choice.before},
          {"after", choice.after},   {"drop", choice.drop()},     {"costs", costs}};
}

std::string text_of(const study::Int8Choice& choice) {
  std::string out = fmt::format(
      "{} over {} samples: {:.4f} in fp32, {:.4f} in int8 ({:+.2f} points)\n", choice.metric,
      choice.samples, choice.before, choice.after, 100 * (choice.after - choice.before));
  for (const auto& [part, cost] : choice.costs) {
    out += fmt::format("  {:<14}{:6.2f} points lost by its cut alone\n", part, cost);
  }
  if (!choice.kept.empty()) {
    out += fmt::format("kept in higher precision: {}\n", fmt::join(choice.kept, ", "));
  }
  return out;
}

/// Gives the quantization of a folder that is packed as it is stored, which has been measured
/// before.
models::Quantization stored_bytes(const ConvertWords& options, const CommonOptions& common) {
  if (!options.stream || common.wanted_dtype()) return {};
  return models::open_model_folder(io::resolve_model(options.model)).config->quantization;
}

}  // namespace

int convert(const Words& words) {
  Arguments arguments("convert",
                      "Writes a model folder with safetensors weights in another dtype.");
  ConvertWords given;
  declare(arguments, given);
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  const CommonOptions& common = arguments.common();
  require_model(given.model);
  if (given.exits) return calibrate_exits(given, common);
  if (given.output.empty()) fail(ErrorKind::usage, "--output: missing; the folder to write");
  if (given.format != "safetensors") {
    fail(ErrorKind::unsupported, "--format: expected safetensors, got {}", quote(given.format));
  }
  models::ConvertOptions options;
  options.dtype = common.dtype;
  options.stream = given.stream;
  if (given.stream && options.dtype == DType::f16) {
    fail(ErrorKind::usage, "--dtype: with --stream fp32, bf16 or int8, got 'fp16'");
  }
  options.max_shard_bytes = parse_bytes("--max-shard-size", given.shard);
  Json result = Json::object();
  const models::Quantization stored = stored_bytes(given, common);
  if (stored.stored) {
    options.dtype = DType::i8;
    options.kept = stored.kept;
  } else if (options.dtype == DType::i8) {
    { const OutputFolder possible(given.output); }  // said before the long work
    const study::Int8Choice choice = measure_int8(given, common);
    options.kept = choice.kept;
    options.measured = json_of(choice);
    result = options.measured;
    result["kept"] = choice.kept;
    if (!common.json && !common.quiet) print(text_of(choice));
  }
  const models::Converted done =
      models::convert_folder(io::resolve_model(given.model), given.output, options);
  result.update(
      {{"tensors", done.tensors}, {"bytes", done.bytes}, {"dtype", dtype_name(options.dtype)}});
  if (common.json) {
    print(json_line(result));
  } else if (!common.quiet) {
    print(fmt::format("{}: {} tensors, {:.1f} MB as {}\n", given.output, done.tensors,
                      static_cast<double>(done.bytes) / 1e6, dtype_name(options.dtype)));
  }
  return kDone;
}

}  // namespace hone::cli

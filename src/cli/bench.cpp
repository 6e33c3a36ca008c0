#include <fmt/core.h>

#include <charconv>

#include "base/error.h"
#include "base/json_text.h"
#include "cli/arguments.h"
#include "cli/bench_small.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "data/line_reader.h"
#include "study/bench_cases.h"
#include "study/loader_bench.h"
#include "study/train_bench.h"

namespace hone::cli {
namespace {

std::string json_of(const study::BenchResult& result) {
  std::string out = "{\"case\":";
  append_json(out, std::string_view(result.name));
  const std::pair<const char*, double> numbers[] = {{"median_ms", result.median_ms},
                                                    {"p10_ms", result.p10_ms},
                                                    {"p90_ms", result.p90_ms},
                                                    {"per_second", result.per_second},
                                                    {"gflops", result.gflops},
                                                    {"gbytes_per_s", result.gbytes_per_s},
                                                    {"share_of_peak", result.share_of_peak}};
  for (const auto& [name, value] : numbers) {
    out += fmt::format(",\"{}\":", name);
    append_json(out, value);
  }
  out += ",\"kernel\":";
  append_json(out, std::string_view(result.kernel));
  return out + fmt::format(",\"checked\":{}}}\n", result.checked);
}

std::string text_of(const study::BenchResult& result) {
  return fmt::format(
      "{}: {:.3f} ms median ({:.3f} to {:.3f}), {:.1f} sequences/s, {:.1f} GFLOP/s ({:.0f}% of "
      "peak), {:.2f} GB/s, {}\n",
      result.name, result.median_ms, result.p10_ms, result.p90_ms, result.per_second, result.gflops,
      100 * result.share_of_peak, result.gbytes_per_s, result.kernel);
}

std::string json_of(const study::TrainBenchResult& result) {
  std::string out = "{\"case\":";
  append_json(out, std::string_view(result.name));
  const std::pair<const char*, double> numbers[] = {
      {"median_ms", result.median_ms},
      {"p10_ms", result.p10_ms},
      {"p90_ms", result.p90_ms},
      {"cpu_ms", result.cpu_ms},
      {"per_second", result.per_second},
      {"forward_ms", result.forward_ms},
      {"backward_ms", result.backward_ms},
      {"optimizer_ms", result.optimizer_ms},
      {"gflops", result.gflops},
      {"share_of_peak", result.share_of_peak},
      {"activation_bytes", static_cast<double>(result.activation_bytes)},
      {"device_bytes", static_cast<double>(result.device_bytes)}};
  for (const auto& [name, value] : numbers) {
    out += fmt::format(",\"{}\":", name);
    append_json(out, value);
  }
  const auto steps = static_cast<double>(result.steps);
  const auto append_ops = [&](const char* field, const auto& number) {
    out += fmt::format(",\"{}\":{{", field);
    for (const OpTime& op : result.ops) {
      if (&op != &result.ops.front()) out += ',';
      append_json(out, op.name);
      out += ':';
      append_json(out, number(op) / steps);
    }
    out += '}';
  };
  append_ops("op_ms", [](const OpTime& op) { return op.seconds * 1e3; });
  append_ops("op_gflop", [](const OpTime& op) { return op.flops * 1e-9; });
  append_ops("op_gbyte", [](const OpTime& op) { return op.bytes * 1e-9; });
  return out + "}\n";
}

std::string text_of(const study::TrainBenchResult& result) {
  constexpr double kMega = 1 << 20;
  std::string out = fmt::format(
      "{}: {:.1f} ms a step, median ({:.1f} to {:.1f}), {:.2f} sequences/s, {:.1f} GFLOP/s "
      "({:.0f}% of peak)\n"
      "  forward {:.1f} ms, loss+backward {:.1f} ms, optimiser {:.1f} ms; activations {:.0f} MB\n",
      result.name, result.median_ms, result.p10_ms, result.p90_ms, result.per_second, result.gflops,
      100 * result.share_of_peak, result.forward_ms, result.backward_ms, result.optimizer_ms,
      static_cast<double>(result.activation_bytes) / kMega);
  for (const OpTime& op : result.ops) {
    out += fmt::format("  {:<24} {:9.2f} ms  {:7.1f} GFLOP/s  {:7.1f} GB/s\n", op.name,
                       op.seconds * 1e3 / static_cast<double>(result.steps),
                       op.flops / op.seconds * 1e-9, op.bytes / op.seconds * 1e-9);
  }
  return out;
}

/// Reads one token count a line.
std::vector<int64_t> read_lengths(const std::string& path) {
  constexpr int64_t kMostTokens = 512;
  std::vector<int64_t> lengths;
  data::LineReader reader(data::open_bytes(path), path);
  for (std::string_view line; reader.next(line);) {
    int64_t length = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), length);
    if (error != std::errc() || end != line.data() + line.size() || length < 1 ||
        length > kMostTokens) {
      fail(ErrorKind::bad_file, "{}: line {}: expected a whole number from 1 to {}, got {}", path,
           reader.number(), kMostTokens, quote(line));
    }
    lengths.push_back(length);
  }
  if (lengths.empty()) fail(ErrorKind::bad_file, "{}: holds no lengths", path);
  return lengths;
}

struct LoaderFlags {
  std::string model;
  int64_t workers = 1, batch = 32;
};

int bench_loader(const LoaderFlags& flags, const SmallFlags& shared, const CommonOptions& common) {
  train::Options options;
  options.model.model = flags.model;
  if (shared.max_length > 0) options.model.max_length = shared.max_length;
  options.data.task = shared.data.task;
  options.data.folder = shared.data.folder;
  options.batch.workers = static_cast<int>(flags.workers);
  options.batch.train = flags.batch;
  options.threads = common.threads;
  if (shared.output.empty())
    fail(ErrorKind::usage, "--output: missing; where texts are encoded to");
  options.tokens = shared.output;
  const study::LoaderBenchResult result = study::run_loader_bench(options);
  if (common.json) {
    print(
        json_line({{"case", "loader"},
                   {"workers", flags.workers},
                   {"seconds", result.seconds},
                   {"encode_seconds", result.encode_seconds},
                   {"samples", result.samples},
                   {"batches", result.batches},
                   {"samples_per_second", static_cast<double>(result.samples) / result.seconds}}));
  } else {
    print(fmt::format("loader: {} workers, {} samples in {:.4f} s, encoded before in {:.2f} s\n",
                      flags.workers, result.samples, result.seconds, result.encode_seconds));
  }
  return kDone;
}

}  // namespace

int bench(const Words& words) {
  Arguments arguments("bench",
                      "Times a model with random weights; or reports on one in little memory.");
  std::string name;
  std::string lengths;
  int64_t seconds = 3;
  bool tune = false;
  arguments.positional("CASE", name, "a case, or list (default) for their names");
  arguments.flag("--tune", tune, "GPU: time products first, keep the fastest");
  arguments.integer("--seconds", 1, 3600, seconds, "of timed rounds; default 3");
  arguments.text("--lengths", "FILE", lengths, "token counts of the -sst2- cases, one a line");
  bool checkpointing = false;
  arguments.flag("--gradient_checkpointing", checkpointing, "of the train- cases: every layer");
  bool layers = false;
  arguments.flag("--layers", layers, "of the train- cases: each layer's operations");
  LoaderFlags loader;
  arguments.integer("--workers", 0, 256, loader.workers, "of loader: threads that make batches");
  arguments.integer("--batch", 1, 1 << 20, loader.batch, "of loader: samples a batch; default 32");
  arguments.text("--model,--model_name_or_path", "DIR", loader.model, "of loader: its tokenizer");
  SmallFlags small;
  declare(arguments, small);
  arguments.example("hone bench --small DIR --data dev.tsv --output REPORT");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  if (name == "loader") return bench_loader(loader, small, arguments.common());
  if (small.given()) return bench_small(small, arguments.common());
  if (name.empty() || name == "list") {
    for (const std::string& known : study::bench_case_names()) print(known + "\n");
    for (const std::string& known : study::train_bench_names()) print(known + "\n");
    print("loader\n");
    return kDone;
  }
  study::BenchOptions options;
  options.dtype = arguments.common().dtype;
  options.device = arguments.common().device;
  options.tune = tune;
  options.tuning = arguments.common().tuning;
  options.threads = arguments.common().threads;
  options.seconds = static_cast<double>(seconds);
  if (!lengths.empty()) options.lengths = read_lengths(lengths);
  if (name.starts_with("train-")) {
    const auto result = study::run_train_bench(
        name, {options, checkpointing ? int64_t{1} << 20 : int64_t{0}, layers});
    print(arguments.common().json ? json_of(result) : text_of(result));
    return kDone;
  }
  const study::BenchResult result = study::run_bench_case(name, options);
  print(arguments.common().json ? json_of(result) : text_of(result));
  return kDone;
}

}  // namespace hone::cli

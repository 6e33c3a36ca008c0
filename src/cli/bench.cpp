#include <fmt/core.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "infer/bench_cases.h"

namespace hone::cli {
namespace {

std::string json_of(const infer::BenchResult& result) {
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
  return out + fmt::format(",\"checked\":{}}}\n", result.checked);
}

std::string text_of(const infer::BenchResult& result) {
  return fmt::format(
      "{}: {:.3f} ms median ({:.3f} to {:.3f}), {:.1f} sequences/s, {:.1f} GFLOP/s ({:.0f}% of "
      "peak), {:.2f} GB/s\n",
      result.name, result.median_ms, result.p10_ms, result.p90_ms, result.per_second, result.gflops,
      100 * result.share_of_peak, result.gbytes_per_s);
}

}  // namespace

int bench(const Words& words) {
  Arguments arguments("bench", "Times forward passes of a model with random weights.");
  std::string name;
  int64_t seconds = 3;
  arguments.positional("CASE", name, "a case, or list (default) for their names");
  arguments.integer("--seconds", 1, 3600, seconds, "of timed rounds; default 3");
  arguments.example("hone bench bert-base-b1-len128 --json");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  if (name.empty() || name == "list") {
    for (const std::string& known : infer::bench_case_names()) print(known + "\n");
    return kDone;
  }
  infer::BenchOptions options;
  options.dtype = arguments.common().dtype;
  options.threads = arguments.common().threads;
  options.seconds = static_cast<double>(seconds);
  const infer::BenchResult result = infer::run_bench_case(name, options);
  print(arguments.common().json ? json_of(result) : text_of(result));
  return kDone;
}

}  // namespace hone::cli

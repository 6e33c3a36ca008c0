// Calls the public API as a program without a server would, one call after the other, and prints
// how long calls take: what bench/serve.py compares a server's answers with.
#include <fmt/core.h>
#include <hone/hone.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "load/summary.h"

namespace hone::load {
namespace {

/// Calls of `batch` texts each; the last goes on with the first texts.
std::vector<std::vector<Text>> read_calls(const std::string& path, size_t batch) {
  std::ifstream file(path);
  std::vector<Text> texts;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) texts.emplace_back(line);
  }
  std::vector<std::vector<Text>> calls;
  for (size_t first = 0; first < texts.size(); first += batch) {
    std::vector<Text>& call = calls.emplace_back();
    for (size_t i = 0; i < batch; ++i) call.push_back(texts[(first + i) % texts.size()]);
  }
  return calls;
}

int main(int argc, char** argv) {
  CLI::App app("Times calls of hone::Model::predict, one after the other.");
  std::string folder, texts;
  size_t batch = 1;
  double seconds = 4, warmup = 1;
  ModelOptions options;
  app.add_option("--model", folder, "the folder")->required();
  app.add_option("--texts", texts, "a file of lines")->required()->check(CLI::ExistingFile);
  app.add_option("--batch", batch, "texts of a call")->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "that count");
  app.add_option("--warmup", warmup, "seconds before that do not");
  app.add_option("--device", options.device, "cpu or cuda");
  app.add_option("--dtype", options.dtype, "fp32, bf16, int8");
  CLI11_PARSE(app, argc, argv);
  const std::vector<std::vector<Text>> calls = read_calls(texts, batch);
  if (calls.empty()) throw std::runtime_error(texts + " has no line");
  const Model model = Model::load(folder, options);
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  for (size_t i = 0; since(begin) < warmup + seconds; ++i) {
    const bool counts = since(begin) >= warmup;
    const Clock::time_point start = Clock::now();
    model.predict(calls[i % calls.size()]);
    if (counts) times.push_back(since(start));
  }
  double sum = 0;
  for (const double time : times) sum += time;
  fmt::print("{}\n",
             OrderedJson{{"batch", batch},
                         {"calls", times.size()},
                         {"p50_ms", percentile(times, 0.5) * 1e3},
                         {"p99_ms", percentile(times, 0.99) * 1e3},
                         {"texts_per_second", static_cast<double>(times.size() * batch) / sum}}
                 .dump());
  return 0;
}

}  // namespace
}  // namespace hone::load

int main(int argc, char** argv) {
  try {
    return hone::load::main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "in_process_bench: {}\n", error.what());
    return 2;
  }
}

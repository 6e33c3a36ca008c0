// The kernels of a RoBERTa-base step, one by one and together in a graph: how long, at what rate,
// and what share of what the card gives.
//
//   step_bench [--lengths FILE] [--cases train-sst2,train-128,...] [--no-tune] [--brief]

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cuda/roberta_step.h"

namespace hone::bench {
namespace {

using kernels::cuda::kernel_api;

/// The median of `runs` replays in microseconds.
double time_graph(CudaStream& stream, CudaGraph& graph, int runs) {
  CudaEvent start, end;
  std::vector<double> times;
  for (int i = -3; i < runs; ++i) {
    start.record(stream);
    graph.launch(stream);
    end.record(stream);
    end.synchronize();
    if (i >= 0) times.push_back(end.since(start) * 1e3);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[size_t(runs) / 2];
}

struct Peaks {
  double bytes_per_s = 0;
  double flops = 0;
};

/// A large copy and a large product.
Peaks measure_peaks(CudaStream& stream) {
  constexpr size_t kBytes = size_t{2} << 30;
  constexpr int64_t kN = 8192;
  CudaBuffer a(kBytes), b(kBytes), scratch(size_t{64} << 20);
  stream.fill(a.data(), 0x3c, kBytes);  // bf16 0.0115
  // Random bits make random products: values of one sign and size run faster than real ones.
  std::vector<uint16_t> bits(kN * kN);
  uint32_t state = 1;
  for (uint16_t& value : bits) {
    state = state * 1664525 + 1013904223;
    value = uint16_t(0x3c00 | (state >> 9 & 0x80ff) | (state >> 24 & 0x7f));
  }
  stream.copy(a.data(), bits.data(), bits.size() * 2);
  stream.copy(b.data(), bits.data(), bits.size() * 2);
  kernels::cuda::ProductShape p;
  p.dtype = p.out = DType::bf16;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = kN;
  const kernels::cuda::ProductArrays arrays{a.data(), b.data(), nullptr, a.as<char>() + (1 << 30)};
  size_t bytes = 0;
  cuda_check(kernel_api().product_prepare(p, scratch.size(), &bytes), "product");
  CudaGraph product = stream.capture([&] {
    cuda_check(kernel_api().product(p, arrays, scratch.data(), scratch.size(), stream.handle()),
               "product");
  });
  Peaks peaks;
  time_graph(stream, product, 20);  // the clocks go up
  peaks.flops = 2.0 * double(kN) * kN * kN / (time_graph(stream, product, 15) * 1e-6);
  CudaGraph copy = stream.capture([&] {  // faster than the driver's copy
    cuda_check(kernel_api().convert(DType::bf16, a.data(), DType::bf16, b.data(), kBytes / 2,
                                    stream.handle()),
               "copy");
  });
  peaks.bytes_per_s = 2.0 * double(kBytes) / (time_graph(stream, copy, 30) * 1e-6);
  return peaks;
}

/// Per name of op: calls, time of all of them in one graph, and rates.
double print_ops(RobertaStep& step, CudaStream& stream, const Peaks& peaks) {
  struct Row {
    int calls = 0;
    double flops = 0, bytes = 0;
  };
  std::vector<std::pair<std::string, Row>> rows;
  for (const StepOp& op : step.ops()) {
    auto at = std::find_if(rows.begin(), rows.end(),
                           [&](const auto& row) { return row.first == op.name; });
    if (at == rows.end()) at = rows.insert(rows.end(), {op.name, {}});
    at->second.calls += 1;
    at->second.flops += op.flops;
    at->second.bytes += op.bytes;
  }
  double sum = 0, products = 0;
  fmt::print("  {:22} {:>5} {:>9} {:>9} {:>8} {:>7} {:>6}\n", "kernel", "calls", "us", "us/call",
             "TFLOP/s", "GB/s", "share");
  for (const auto& [name, row] : rows) {
    CudaGraph graph = stream.capture([&, &n = name] { step.play_named(n); });
    const double us = time_graph(stream, graph, 15);
    const double flops = row.flops / us * 1e6, bytes = row.bytes / us * 1e6;
    fmt::print("  {:22} {:5} {:9.1f} {:9.2f} {:8.1f} {:7.0f} {:5.0f}%\n", name, row.calls, us,
               us / row.calls, flops / 1e12, bytes / 1e9,
               100 * std::max(flops / peaks.flops, bytes / peaks.bytes_per_s));
    sum += us;
    if (row.flops > 0 && name.find("attention") == std::string::npos) products += us;
    if (name.find("AdamW") != std::string::npos) products += us;
  }
  fmt::print("  sum {:.1f} us; products and optimiser alone {:.1f} us\n", sum, products);
  return products;
}

/// The largest difference of the logits from those by cuBLASLt, which must be small.
double logits_apart(RobertaStep& step, StepShape shape, CudaStream& stream) {
  shape.library = true;
  RobertaStep reference(shape, stream);
  reference.play();
  const auto expected = reference.logits(), actual = step.logits();
  double apart = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(double{actual[i]} - expected[i]);
    if (!(difference <= apart)) apart = difference;  // NaN stays
  }
  return apart;
}

/// Whether the values were right.
bool run_case(const StepShape& shape, CudaStream& stream, const Peaks& peaks, bool tune,
              bool brief) {
  bool right = true;
  RobertaStep step(shape, stream);
  if (tune) step.tune();
  // Checked first: the loss of one batch falls.
  CudaGraph graph = stream.capture([&] { step.play(); });
  graph.launch(stream);
  stream.synchronize();
  if (shape.training) {
    const double first = step.loss(), norm = step.grad_norm();
    for (int i = 0; i < 30; ++i) graph.launch(stream);
    const double later = step.loss();
    right = later < first;
    fmt::print("  loss {:.4f}, after 30 more steps {:.4f}; gradient norm {:.3f}{}\n", first, later,
               norm, right ? "" : "  FAILED");
  }
  if (!shape.training && !brief) {
    const double apart = logits_apart(step, shape, stream);
    right = apart < 0.02;
    fmt::print("  logits apart from cuBLASLt's by {:.4f}{}\n", apart, right ? "" : "  FAILED");
  }
  const double us = time_graph(stream, graph, 50);
  fmt::print(
      "{}: {} sequences, {} tokens: {:.1f} us a step ({:.0f} samples/s), {} nodes, {:.2f} GB\n",
      shape.name, shape.lengths.size(), shape.tokens, us, double(shape.lengths.size()) / us * 1e6,
      graph.nodes(), double(step.device_bytes()) / 1e9);
  if (brief) return right;
  const double floor = print_ops(step, stream, peaks);
  fmt::print("  share of the floor: {:.0f}%\n\n", 100 * floor / us);
  return right;
}

std::vector<StepShape> all_cases(const std::string& lengths_file) {
  std::vector<int32_t> train = {11, 15, 33, 9,  16, 4,  5,  8,  14, 11, 5,  6, 21, 10, 14, 12,
                                31, 8,  7,  11, 28, 22, 17, 10, 16, 24, 10, 8, 60, 11, 8,  24};
  std::vector<int32_t> dev(128, 25);
  if (!lengths_file.empty()) {
    const auto json = nlohmann::json::parse(read_file(lengths_file));
    train = json.at("train").get<std::vector<int32_t>>();
    dev = json.at("dev").get<std::vector<int32_t>>();
  }
  const auto rounded = [](const std::vector<int32_t>& lengths) {
    int64_t sum = 0;
    for (const int32_t length : lengths) sum += length;
    return (sum + 63) / 64 * 64;
  };
  const std::vector<int32_t> b128(128, 128), b32(32, 128), b32_512(32, 512);
  return {{"train-sst2", train, rounded(train), true},
          {"train-128", b32, 4096, true},
          {"train-512", b32_512, 16384, true},
          {"infer-b1-32", {32}, 32, false},
          {"infer-b1-128", {128}, 128, false},
          {"infer-sst2", dev, rounded(dev), false},
          {"infer-128", b128, 16384, false}};
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  using namespace hone;
  using namespace hone::bench;
  CLI::App app("Times the CUDA kernels of a RoBERTa-base step");
  std::string lengths, only;
  bool no_tune = false, brief = false;
  app.add_option("--lengths", lengths, "JSON: {\"train\": [32 lengths], \"dev\": [128 lengths]}");
  app.add_option("--cases", only, "those whose names are in this text");
  app.add_flag("--no-tune", no_tune, "the library's first choice of algorithm");
  app.add_flag("--brief", brief, "times of whole steps alone, unchecked");
  CLI11_PARSE(app, argc, argv);
  if (!cuda_info().missing.empty()) {
    fmt::print("no GPU: {}\n", cuda_info().missing);
    return 0;
  }
  bool right = true;
  try {
    use_cuda_device(0);
    CudaStream stream;
    uint64_t version = 0;
    const char* path = "";
    cuda_check(kernels::cuda::kernel_api().product_library(&version, &path), "cuBLASLt");
    const CudaDevice& device = cuda_info().devices.front();
    const Peaks peaks = brief ? Peaks{} : measure_peaks(stream);
    fmt::print(
        "{}: copy {:.0f} GB/s, bf16 product {:.0f} TFLOP/s; driver {}, runtime {}, "
        "cuBLASLt {} ({})\n\n",
        device.name, peaks.bytes_per_s / 1e9, peaks.flops / 1e12, cuda_info().driver,
        cuda_info().runtime, version, path);
    for (const StepShape& shape : all_cases(lengths)) {
      if (!only.empty() && ("," + only + ",").find("," + shape.name + ",") == std::string::npos)
        continue;
      right &= run_case(shape, stream, peaks, !no_tune, brief);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
  return right ? 0 : 1;
}

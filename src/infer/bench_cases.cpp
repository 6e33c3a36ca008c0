#include "infer/bench_cases.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "infer/bench_models.h"
#include "kernels/cpu/peak.h"
#include "kernels/cuda/peak.h"
#include "models/init.h"
#include "plan/gpu_runner.h"
#include "plan/gpu_tuning.h"

namespace hone::infer {
namespace {

constexpr std::array<BenchCase, 12> kCases = {
    {{"bert-base-b1-len32", kBertBase, 1, 32},
     {"bert-base-b1-len128", kBertBase, 1, 128},
     {"bert-base-b8-len128", kBertBase, 8, 128},
     {"bert-base-b32-len128", kBertBase, 32, 128},
     {"bert-base-sst2-b32", kBertBase, 32, 0},
     {"minilm-b1-len32", kMiniLm, 1, 32},
     {"minilm-b1-len128", kMiniLm, 1, 128},
     {"minilm-sst2-b32", kMiniLm, 32, 0},
     {"roberta-base-b1-len32", kRobertaBase, 1, 32},
     {"roberta-base-b1-len128", kRobertaBase, 1, 128},
     {"roberta-base-sst2-b128", kRobertaBase, 128, 0},
     {"roberta-base-b128-len128", kRobertaBase, 128, 128}}};

class Runner {
 public:
  Runner(models::Encoder& encoder, bool tune, ThreadPool& pool)
      : forward_(encoder.record({})),
        execution_(forward_.plan, encoder.weights_for(forward_.shadows), pool) {
    encoder.parameters().refresh(pool);
    if (execution_.gpu()) execution_.gpu()->tune(tune);
  }

  /// On a GPU the answer is still to come.
  void start(const models::Batch& batch) {
    execution_.resize(batch.extents());
    batch.bind(forward_.inputs, execution_);
    execution_.run();
  }
  const float* finish() { return execution_.output<float>(forward_.output); }
  const float* run(const models::Batch& batch) {
    start(batch);
    return finish();
  }
  double flops(const models::Batch& batch) const { return forward_.plan.flops(batch.extents()); }

  /// Sequences of the batch alone give their row of the batch, bit for bit.
  void check(const models::Batch& batch, const models::EncoderConfig& config) {
    const auto width = static_cast<size_t>(forward_.output.width);
    const float* rows = run(batch);
    const std::vector<float> together(rows, rows + static_cast<size_t>(batch.sequences()) * width);
    for (int64_t i = 0; i < batch.sequences(); ++i) {
      models::Batch alone(config);
      alone.add(batch.ids(i));
      const float* row = run(alone);
      const float* expected = together.data() + static_cast<size_t>(i) * width;
      if (!std::equal(row, row + width, expected) || !std::isfinite(row[0])) {
        fail(ErrorKind::internal, "bench: sequence {} differs alone from its batch", i);
      }
    }
  }

 private:
  models::Forward forward_;
  Execution execution_;
};

constexpr int kGpuRepeats = 10;

}  // namespace

std::vector<std::string> bench_case_names() { return names_of(kCases); }

BenchResult run_bench_case(const std::string& name, const BenchOptions& options) {
  const BenchCase& bench = find_case(kCases, name);
  ThreadPool pool(options.threads > 0 ? options.threads : usable_cores());
  const bool gpu = select_device(options.device);
  const GpuTuning tuning(gpu ? options.tuning : "");
  models::Encoder encoder(bench_config(bench.shape), options.dtype, gpu ? Isa::gpu : chosen_isa(),
                          true);
  models::init_random(encoder, 1, 0.02f, pool);
  const std::vector<models::Batch> batches =
      make_bench_batches(bench.batch, bench.length, options.lengths, encoder.config());
  Runner runner(encoder, options.tune, pool);
  // A GPU's products choose their order of sums by the number of rows.
  if (!gpu) runner.check(batches.front(), encoder.config());

  std::vector<double> rounds;
  // One text's time is from host to host; batches follow each other without a wait.
  const int repeats = gpu && bench.batch > 1 ? kGpuRepeats : 1;
  const auto round = [&] {
    const Stopwatch watch;
    for (int i = 0; i < repeats; ++i) {
      for (const models::Batch& batch : batches) runner.start(batch);
    }
    runner.finish();
    return watch.seconds() / repeats;
  };
  for (int i = 0; i < 3; ++i) round();  // a GPU's graphs are there then
  const Stopwatch total;
  while (rounds.size() < 3 || total.seconds() < options.seconds) rounds.push_back(round());
  std::sort(rounds.begin(), rounds.end());

  double flops = 0;
  int64_t sequences = 0;
  for (const models::Batch& batch : batches) {
    flops += runner.flops(batch);
    sequences += batch.sequences();
  }
  const double median = at_share(rounds, 0.5);
  BenchResult result;
  result.name = name;
  result.median_ms = median * 1e3;
  result.p10_ms = at_share(rounds, 0.1) * 1e3;
  result.p90_ms = at_share(rounds, 0.9) * 1e3;
  result.per_second = static_cast<double>(sequences) / median;
  result.gflops = flops / median * 1e-9;
  const double tables = 30522. * static_cast<double>(bench.shape.hidden) *
                        static_cast<double>(dtype_size(options.dtype));
  const double weights = static_cast<double>(encoder.parameters().bytes()) - tables;
  result.gbytes_per_s = weights * static_cast<double>(batches.size()) / median * 1e-9;
  if (gpu) {
    const double peak = kernels::cuda::measured_peak(options.dtype);
    if (peak > 0) result.share_of_peak = 1e9 * result.gflops / peak;
    result.kernel = "cuda";
    return result;
  }
  result.share_of_peak = result.gflops / kernels::measured_peak(chosen_isa(), options.dtype, pool);
  for (const KernelChoice& choice : kernel_choices(chosen_isa())) {
    if (choice.dtype == dtype_name(options.dtype)) result.kernel = choice.kernel;
  }
  result.checked = true;
  return result;
}

}  // namespace hone::infer

#include "study/bench_cases.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "kernels/cpu/peak.h"
#include "kernels/cuda/peak.h"
#include "models/init.h"
#include "models/model.h"
#include "plan/cuda_executor.h"
#include "plan/cuda_tuning.h"
#include "study/bench_models.h"

namespace hone::study {
namespace {

constexpr std::array<BenchCase, 23> kCases = {{{"bert-base-b1-len32", kBertBase, 1, 32},
                                               {"bert-base-b1-len128", kBertBase, 1, 128},
                                               {"bert-base-b8-len128", kBertBase, 8, 128},
                                               {"bert-base-b32-len128", kBertBase, 32, 128},
                                               {"bert-base-sst2-b32", kBertBase, 32, 0},
                                               {"minilm-b1-len32", kMiniLm, 1, 32},
                                               {"minilm-b1-len128", kMiniLm, 1, 128},
                                               {"minilm-sst2-b32", kMiniLm, 32, 0},
                                               {"minilm-sst2-b128", kMiniLm, 128, 0},
                                               {"roberta-base-b1-len32", kRobertaBase, 1, 32},
                                               {"roberta-base-b1-len128", kRobertaBase, 1, 128},
                                               {"roberta-base-sst2-b128", kRobertaBase, 128, 0},
                                               {"roberta-base-b128-len128", kRobertaBase, 128, 128},
                                               {"lstm-b1-len100", kLstm, 1, 100},
                                               {"lstm-b128-len100", kLstm, 128, 100},
                                               {"lstm-sst2-b128", kLstm, 128, 0},
                                               {"resnet18-b1", kResNet18, 1, 1},
                                               {"resnet18-b8", kResNet18, 8, 1},
                                               {"resnet18-32px-b512", kResNet18, 512, 32},
                                               {"resnet18-cifar-b512", kResNet18Cifar, 512, 1},
                                               {"resnet50-b1", kResNet50, 1, 1},
                                               {"resnet50-b8", kResNet50, 8, 1},
                                               {"resnet50-b256", kResNet50, 256, 1}}};

/// A model and its forward pass.
class ForwardPass {
 public:
  ForwardPass(models::Model& model, bool tune, ThreadPool& pool)
      : pass_(model.record(models::OutputOptions{})),
        runner_(pass_.plan, model.weights_for(pass_.shadows), pool) {
    model.parameters().refresh(pool);
    if (runner_.cuda()) runner_.cuda()->tune(tune);
  }

  /// Starts a forward pass; on a GPU the answer is still to come.
  void start(const data::Batch& batch) {
    runner_.resize(batch.extents());
    pass_.bind(batch, runner_);
    runner_.start();
  }
  const float* finish() { return runner_.output<float>(pass_.output); }
  const float* run(const data::Batch& batch) {
    start(batch);
    return finish();
  }
  double flops(const data::Batch& batch) const { return pass_.plan->flops(batch.extents()); }

  /// Checks that samples of the batch alone give their row of the batch, bit for bit.
  void check(const data::Batch& batch) {
    const auto width = static_cast<size_t>(pass_.output.width);
    const float* rows = run(batch);
    const std::vector<float> together(rows, rows + static_cast<size_t>(batch.size()) * width);
    for (int64_t i = 0; i < batch.size(); ++i) {
      const data::Batch alone = batch.subset({&i, 1});
      const float* row = run(alone);
      const float* expected = together.data() + static_cast<size_t>(i) * width;
      if (!std::equal(row, row + width, expected) || !std::isfinite(row[0])) {
        fail(ErrorKind::internal, "bench: sequence {} differs alone from its batch", i);
      }
    }
  }

 private:
  models::Pass pass_;
  Runner runner_;
};

constexpr int kGpuRepeats = 10;

}  // namespace

std::vector<std::string> bench_case_names() { return names_of(kCases); }

BenchResult run_bench_case(const std::string& name, const BenchOptions& options) {
  const BenchCase& bench = find_case(kCases, name);
  ThreadPool pool(options.threads > 0 ? options.threads : usable_cores());
  const bool gpu = select_device(options.device);
  const CudaTuning tuning(gpu ? options.tuning : "");
  const std::unique_ptr<data::Processor> processor = bench_processor(bench);
  const std::unique_ptr<models::Model> model =
      models::make_model(*bench_config(bench.shape),
                         {options.dtype, Target::of(gpu), true, {}, true, processor.get()});
  models::init_random(*model, 1, 0.02f, pool);
  const std::vector<data::Batch> batches =
      make_bench_batches(bench.batch, bench.length, options.lengths, model->config());
  ForwardPass runner(*model, options.tune, pool);
  // A GPU's products choose their order of sums by the number of rows.
  if (!gpu) runner.check(batches.front());

  std::vector<double> rounds;
  // One text's time is from host to host; batches follow each other without a wait.
  const int repeats = gpu && bench.batch > 1 ? kGpuRepeats : 1;
  const auto round = [&] {
    const Stopwatch watch;
    for (int i = 0; i < repeats; ++i) {
      for (const data::Batch& batch : batches) runner.start(batch);
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
  for (const data::Batch& batch : batches) {
    flops += runner.flops(batch);
    sequences += batch.size();
  }
  const double median = at_share(rounds, 0.5);
  BenchResult result;
  result.name = name;
  result.median_ms = median * 1e3;
  result.p10_ms = at_share(rounds, 0.1) * 1e3;
  result.p90_ms = at_share(rounds, 0.9) * 1e3;
  result.per_second = static_cast<double>(sequences) / median;
  result.gflops = flops / median * 1e-9;
  double weights = 0;
  for (const nn::Parameter& parameter : model->parameters().list()) {
    if (parameter.kind == nn::ParameterKind::table) continue;
    weights += static_cast<double>(model->parameters().bytes_of(parameter));
  }
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

}  // namespace hone::study

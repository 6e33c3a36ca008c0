#include "study/loader_bench.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "data/loader.h"
#include "device/cpu_info.h"
#include "train/datasets.h"

namespace hone::study {
namespace {

constexpr double kLeastSeconds = 0.5;

}  // namespace

LoaderBenchResult run_loader_bench(const train::Options& options) {
  ThreadPool pool(options.threads > 0 ? options.threads : usable_cores());
  const train::Corpus corpus = train::open_corpus(options);
  const train::TrainedModel model(options, corpus);
  LoaderBenchResult result;
  Stopwatch watch;
  const train::Datasets data = train::open_datasets(options, corpus, model, pool);
  result.encode_seconds = watch.restart();
  if (!data.training) fail(ErrorKind::usage, "data: has no training set");
  const data::SampleStore& store = data.training->store;
  data::SamplerOptions sampling;
  sampling.seed = options.seed;
  sampling.max_samples = options.batch.train;
  const data::Sampler sampler(store.lengths(), sampling);
  data::LoaderOptions loading;
  loading.workers = options.batch.workers;
  for (watch.restart(); watch.seconds() < kLeastSeconds; ++result.epochs) {
    loading.begin = {result.epochs, 0};
    loading.end_epoch = result.epochs + 1;
    data::Loader loader(store, model.processor(), sampler, loading);
    result.batches = 0;
    for (data::Batch batch; loader.next(batch);) ++result.batches;
  }
  result.seconds = watch.seconds() / static_cast<double>(result.epochs);
  result.samples = store.samples();
  return result;
}

}  // namespace hone::study

#include "train/datasets.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace hone::train {
namespace {

data::SampleStoreRecipe recipe_for(const Corpus& corpus, const TrainedModel& model,
                                   int64_t max_samples) {
  data::SampleStoreRecipe recipe{model.processor(), {}, corpus.task_labels(), max_samples};
  recipe.labels.problem = corpus.labels.problem;
  if (corpus.labels.problem != ProblemType::regression) recipe.labels.names = model.config().labels;
  return recipe;
}

}  // namespace

Datasets open_datasets(const Options& options, const Corpus& corpus, const TrainedModel& model,
                       ThreadPool& pool) {
  const std::string folder = options.tokens.empty() ? options.output + "/tokens" : options.tokens;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "{}: cannot create: {}", folder, error.message());
  Datasets sets;
  const auto open = [&](const Corpus::Part& part, int64_t most) {
    data::OpenedStore opened = data::open_or_build_store(
        folder + "/" + part.name + ".tokens", part.split, recipe_for(corpus, model, most), pool);
    if (!opened.rebuilt.empty()) {
      sets.notes.push_back(fmt::format("encoded {}: {} samples, {} {}, {} cut", part.split.name,
                                       opened.store.samples(), opened.store.units(),
                                       model.processor().unit_name(), opened.store.truncated()));
    }
    return opened;
  };
  if (corpus.training) {
    data::OpenedStore opened = open(*corpus.training, options.data.max_train_samples);
    sets.training_key = data::hex(opened.key);
    sets.training.emplace(Datasets::Part{corpus.training->name, std::move(opened.store)});
    const data::SampleStore& store = sets.training->store;
    data::LabelSet labels = corpus.labels;
    if (labels.problem != ProblemType::regression) labels.names = model.config().labels;
    data::require_trainable(corpus.training->split.name, labels, store.samples(),
                            store.label_counts());
  }
  for (const Corpus::Part& part : corpus.evaluations) {
    sets.evaluations.push_back({part.name, open(part, options.data.max_eval_samples).store});
  }
  return sets;
}

}  // namespace hone::train

#include "train/datasets.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace hone::train {
namespace {

/// Gives the names of the labels that samples have.
std::vector<std::string> names_of(const Corpus& corpus, const TrainedModel& model) {
  const bool classes = corpus.labels.problem && corpus.problem() != ProblemType::regression;
  return classes ? model.config().labels : std::vector<std::string>();
}

data::SampleStoreRecipe recipe_for(const Corpus& corpus, const TrainedModel& model,
                                   const data::Processor& processor, int64_t max_samples) {
  data::SampleStoreRecipe recipe{processor, {}, corpus.task_labels(), max_samples};
  recipe.labels.problem = corpus.labels.problem;
  recipe.labels.names = names_of(corpus, model);
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
  const auto open = [&](const Corpus::Part& part, const data::Processor& processor, int64_t most) {
    data::SampleStoreRecipe recipe = recipe_for(corpus, model, processor, most);
    recipe.skip_bad = options.data.skip_bad;
    data::OpenedStore opened =
        data::open_or_build_store(folder + "/" + part.name + ".tokens", part.split, recipe, pool);
    if (!opened.rebuilt.empty()) {
      sets.notes.push_back(fmt::format("encoded {}: {} samples, {} {}, {} cut", part.split.name,
                                       opened.store.samples(), opened.store.units(),
                                       model.processor().unit_name(), opened.store.truncated()));
    }
    if (!opened.skipped.empty()) {
      sets.notes.push_back(
          fmt::format("{}: {} {}s cannot be read and are left out:", part.split.name,
                      opened.skipped.size(), processor.sample_name()));
    }
    for (const std::string& problem : opened.skipped) sets.notes.push_back("  " + problem);
    return opened;
  };
  if (corpus.training) {
    data::OpenedStore opened =
        open(*corpus.training, model.training_processor(), options.data.max_train_samples);
    sets.training.emplace(
        Datasets::Part{corpus.training->name, std::move(opened.store), data::hex(opened.key)});
    const data::SampleStore& store = sets.training->store;
    data::LabelSet labels = corpus.labels;
    labels.names = names_of(corpus, model);
    data::require_trainable(corpus.training->split.name, labels, store.samples(),
                            store.label_counts());
  }
  for (const Corpus::Part& part : corpus.evaluations) {
    data::OpenedStore opened = open(part, model.processor(), options.data.max_eval_samples);
    sets.evaluations.push_back({part.name, std::move(opened.store), data::hex(opened.key)});
  }
  return sets;
}

}  // namespace hone::train

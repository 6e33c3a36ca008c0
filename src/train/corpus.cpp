#include "train/corpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/image_list.h"
#include "data/reviews.h"
#include "models/folder.h"
#include "train/trained_model.h"

namespace hone::train {
namespace {

/// Gives the training split of the built-in reviews, with wrong labels in it.
data::Split noisy_reviews(const data::Task& task, double noise) {
  data::Split split = data::task_split(task, "", "train");
  data::ReviewOptions options;
  options.label_noise = noise;
  split.name += fmt::format(" with {} label noise", noise);
  split.open = [options] { return data::open_reviews(options, "train"); };
  return split;
}

void add_task_parts(const Options& options, const data::Task& task, Corpus& corpus) {
  const DataOptions& data = options.data;
  if (data.folder.empty() && task.layout != data::TaskLayout::reviews) {
    fail(ErrorKind::usage, "data.folder: missing; the folder that has {}'s files", task.name);
  }
  const auto part = [&](const std::string& split) {
    return Corpus::Part{split, data::task_split(task, data.folder, split)};
  };
  if (options.train && data.train_file.empty()) {
    corpus.training = part("train");
    if (task.layout == data::TaskLayout::reviews && data.label_noise > 0) {
      corpus.training->split = noisy_reviews(task, data.label_noise);
    }
  }
  if (options.evaluate && data.validation_file.empty()) {
    for (const std::string& split : data::evaluation_splits(task)) {
      corpus.evaluations.push_back(part(split));
    }
  }
  if (options.predict && data.test_file.empty()) corpus.prediction = part("test");
}

void add_file_parts(const Options& options, Corpus& corpus) {
  const DataOptions& data = options.data;
  if (options.train && !data.train_file.empty()) {
    corpus.training = {"train", data::file_split(data.train_file, true)};
  }
  if (options.evaluate && !data.validation_file.empty()) {
    corpus.evaluations.push_back({"validation", data::file_split(data.validation_file, true)});
  }
  if (options.predict && !data.test_file.empty()) {
    corpus.prediction = {"test", data::file_split(data.test_file, false)};
  }
}

/// Says whether the model reads images, by its config alone.
bool model_reads_images(const ModelOptions& model) {
  if (!model.model.empty()) return models::samples_of(model.model) == data::SampleKind::image;
  if (model.config.empty() && model.type.empty()) return false;
  const NewConfig config = new_config(model);
  return models::find_family(JsonFields(config.json, config.file)).samples ==
         data::SampleKind::image;
}

/// Says whether the run's own files are images, or lists of them.
bool has_own_images(const Options& options) {
  const DataOptions& data = options.data;
  if (!data.train_folder.empty() || !data.validation_folder.empty()) return true;
  if (data.task == data::kOwnImages) return true;
  return data.task.empty() && (!data.train_file.empty() || !data.validation_file.empty()) &&
         model_reads_images(options.model);
}

std::optional<data::ImageList> open_list(const std::string& folder, const std::string& file) {
  if (!folder.empty()) return data::images_by_class(folder);
  if (!file.empty()) return data::images_listed(file, true);
  return std::nullopt;
}

void add_own_images(const Options& options, Corpus& corpus) {
  const DataOptions& data = options.data;
  corpus.samples = data::SampleKind::image;
  std::optional<data::ImageList> training, validation;
  if (options.train) training = open_list(data.train_folder, data.train_file);
  if (options.evaluate) validation = open_list(data.validation_folder, data.validation_file);
  if (training) {
    corpus.labels = data::image_labels(*training);
    if (options.evaluate && !validation && data.validation_share > 0) {
      validation = data::split_off(*training, data.validation_share, options.seed);
    }
    data::keep_some(*training, data.max_train_samples, options.seed);
    corpus.training = {"train", data::image_split(std::move(*training))};
  } else if (validation) {
    corpus.labels = data::image_labels(*validation);
  }
  if (validation) {
    data::check_labels(*validation, corpus.labels);
    data::keep_some(*validation, data.max_eval_samples, options.seed);
    corpus.evaluations.push_back({"validation", data::image_split(std::move(*validation))});
  }
  if (options.predict && !data.test_file.empty()) {
    corpus.prediction = {"test",
                         data::image_split(data::images_listed(data.test_file, false), false)};
  }
  if (corpus.labels.problem == ProblemType::single_label) corpus.metrics = data::image_metrics();
}

/// Opens files of trees, for a parser.
Corpus open_trees(const Options& options) {
  const DataOptions& data = options.data;
  Corpus corpus;
  corpus.name = kParseTask;
  corpus.parses = true;
  corpus.labels.problem.reset();
  if (options.predict) {
    fail(ErrorKind::usage, "predict: a parser's trees are scored, not written, by training");
  }
  if (options.train) {
    if (data.train_file.empty()) {
      fail(ErrorKind::usage, "data.train_file: missing; a parser learns from a file of trees");
    }
    corpus.training = {"train", data::tree_split(data.train_file)};
  }
  if (options.evaluate && !data.validation_file.empty()) {
    corpus.evaluations.push_back({"validation", data::tree_split(data.validation_file)});
  }
  return corpus;
}

}  // namespace

std::vector<std::string> Corpus::task_labels() const {
  return task ? task->labels : std::vector<std::string>();
}

Corpus open_corpus(const Options& options) {
  const DataOptions& data = options.data;
  const bool files =
      !data.train_file.empty() || !data.validation_file.empty() || !data.test_file.empty();
  if (data.task == kParseTask) return open_trees(options);
  Corpus corpus;
  const bool own_images = has_own_images(options);
  if (own_images) {
    add_own_images(options, corpus);
  } else if (!data.task.empty()) {
    corpus.task = &data::task_named(data.task);
  } else if (!files) {
    corpus.task = data::find_task("reviews");
  }
  if (!own_images) add_file_parts(options, corpus);
  if (corpus.task && corpus.task->images()) corpus.samples = data::SampleKind::image;
  if (corpus.task && (!data.task.empty() || !files)) add_task_parts(options, *corpus.task, corpus);
  if (options.train && !corpus.training) {
    fail(ErrorKind::usage, "data.train_file: missing; training needs it, or a `data.task`");
  }
  if (options.predict && !corpus.prediction) {
    fail(ErrorKind::usage, "data.test_file: missing; `predict` needs it, or a `data.task`");
  }
  corpus.name = corpus.task               ? corpus.task->name
                : data.train_file.empty() ? data.train_folder
                                          : data.train_file;
  if (own_images) return corpus;
  if (corpus.task) {
    corpus.labels = data::task_labels(*corpus.task);
    corpus.metrics = corpus.task->metrics;
  } else if (corpus.training) {
    corpus.labels = data::discover_labels(corpus.training->split);
  } else if (!corpus.evaluations.empty()) {
    corpus.labels = data::discover_labels(corpus.evaluations.front().split);
  }
  return corpus;
}

data::AugmentOptions default_augmentation(const Corpus& corpus) {
  if (corpus.samples != data::SampleKind::image) return {};
  if (!corpus.task) return {.resized_crop = true, .flip = true};
  if (corpus.task->layout == data::TaskLayout::cifar) return {.crop_padding = 4, .flip = true};
  return {.crop_padding = 2, .flip = corpus.task->name != "mnist"};
}

void adopt_labels(const Corpus& corpus, models::ModelConfig& config) {
  if (corpus.parses) return;
  const auto keys = [](const std::vector<std::string>& names) {
    std::vector<std::string> sorted;
    for (const std::string& name : names) sorted.push_back(data::normal_label(name));
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  config.problem = corpus.problem();
  if (config.problem == ProblemType::regression) {
    config.labels = {"LABEL_0"};
    config.labels_named = false;
    return;
  }
  if (config.labels_named && keys(config.labels) == keys(corpus.labels.names)) return;
  config.labels = corpus.labels.names;
  config.labels_named = true;
}

}  // namespace hone::train

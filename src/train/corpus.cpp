#include "train/corpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/reviews.h"

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

}  // namespace

std::vector<std::string> Corpus::task_labels() const {
  return task ? task->labels : std::vector<std::string>();
}

Corpus open_corpus(const Options& options) {
  const DataOptions& data = options.data;
  const bool files =
      !data.train_file.empty() || !data.validation_file.empty() || !data.test_file.empty();
  Corpus corpus;
  if (!data.task.empty()) {
    corpus.task = &data::task_named(data.task);
  } else if (!files) {
    corpus.task = data::find_task("reviews");
  }
  add_file_parts(options, corpus);
  if (corpus.task && (!data.task.empty() || !files)) add_task_parts(options, *corpus.task, corpus);
  if (options.train && !corpus.training) {
    fail(ErrorKind::usage, "data.train_file: missing; training needs it, or a `data.task`");
  }
  if (options.predict && !corpus.prediction) {
    fail(ErrorKind::usage, "data.test_file: missing; `predict` needs it, or a `data.task`");
  }
  corpus.name = corpus.task ? corpus.task->name : data.train_file;
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

void adopt_labels(const Corpus& corpus, models::ModelConfig& config) {
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

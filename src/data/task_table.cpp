#include "data/labels.h"
#include "data/tasks.h"

namespace hone::data {
namespace {

using Names = std::vector<std::string>;

const Names kAccuracy = {"accuracy"};
const Names kAccuracyAndF1 = {"accuracy", "f1"};

std::vector<TaskSplit> glue_splits() {
  return {{"train", {"train.tsv"}}, {"validation", {"dev.tsv"}}, {"test", {"test.tsv"}}};
}

/// Gives the splits of sets that were published without a dev set.
std::vector<TaskSplit> test_for_validation(const Names& train, const Names& test) {
  return {{"train", train}, {"validation", test}, {"test", test}};
}

Task glue_task(std::string name, std::string folder, Names labels, Names metrics, Names text,
               Names pair, Names label) {
  Task task;
  task.name = std::move(name);
  task.folder = std::move(folder);
  task.labels = std::move(labels);
  task.metrics = std::move(metrics);
  task.splits = glue_splits();
  task.text_columns = std::move(text);
  task.pair_columns = std::move(pair);
  task.label_columns = std::move(label);
  return task;
}

Task other_task(std::string name, std::string folder, TaskLayout layout, Names labels,
                std::vector<TaskSplit> splits) {
  Task task;
  task.name = std::move(name);
  task.folder = std::move(folder);
  task.layout = layout;
  task.labels = std::move(labels);
  task.metrics = kAccuracy;
  task.splits = std::move(splits);
  return task;
}

Task mnli() {
  Task task =
      glue_task("mnli", "MNLI", {"entailment", "neutral", "contradiction"}, kAccuracy,
                {"sentence1", "premise"}, {"sentence2", "hypothesis"}, {"gold_label", "label"});
  task.splits = {{"train", {"train.tsv"}},
                 {"validation_matched", {"dev_matched.tsv"}},
                 {"validation_mismatched", {"dev_mismatched.tsv"}},
                 {"test_matched", {"test_matched.tsv"}},
                 {"test_mismatched", {"test_mismatched.tsv"}}};
  return task;
}

/// Lists the labels in the order of `datasets`' trec.
Names trec_fine_labels() {
  return {"ABBR:abb",      "ABBR:exp",      "ENTY:animal", "ENTY:body",      "ENTY:color",
          "ENTY:cremat",   "ENTY:currency", "ENTY:dismed", "ENTY:event",     "ENTY:food",
          "ENTY:instru",   "ENTY:lang",     "ENTY:letter", "ENTY:other",     "ENTY:plant",
          "ENTY:product",  "ENTY:religion", "ENTY:sport",  "ENTY:substance", "ENTY:symbol",
          "ENTY:techmeth", "ENTY:termeq",   "ENTY:veh",    "ENTY:word",      "DESC:def",
          "DESC:desc",     "DESC:manner",   "DESC:reason", "HUM:gr",         "HUM:ind",
          "HUM:title",     "HUM:desc",      "LOC:city",    "LOC:country",    "LOC:mount",
          "LOC:other",     "LOC:state",     "NUM:code",    "NUM:count",      "NUM:date",
          "NUM:dist",      "NUM:money",     "NUM:ord",     "NUM:other",      "NUM:period",
          "NUM:perc",      "NUM:speed",     "NUM:temp",    "NUM:volsize",    "NUM:weight"};
}

Task image_task(std::string name, std::string folder, TaskLayout layout, Names labels,
                std::vector<TaskSplit> splits) {
  Task task =
      other_task(std::move(name), std::move(folder), layout, std::move(labels), std::move(splits));
  task.metrics = image_metrics();
  return task;
}

std::vector<Task> image_tasks() {
  const auto idx = [](const std::string& split) {
    return Names{split + "-images-idx3-ubyte", split + "-images-idx3-ubyte.gz",
                 split + "-images.idx3-ubyte", split + "-images.idx3-ubyte.gz"};
  };
  const auto idx_splits = test_for_validation(idx("train"), idx("t10k"));
  return {image_task("cifar10", "cifar-10-batches-bin", TaskLayout::cifar,
                     {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                      "ship", "truck"},
                     test_for_validation({"data_batch_1.bin", "data_batch_1.png"},
                                         {"test_batch.bin", "test_batch.png"})),
          image_task("mnist", "MNIST/raw", TaskLayout::idx,
                     {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, idx_splits),
          image_task("fashion_mnist", "FashionMNIST/raw", TaskLayout::idx,
                     {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                      "Sneaker", "Bag", "Ankle boot"},
                     idx_splits)};
}

std::vector<Task> make_tasks() {
  const Names one = {"sentence1", "#1 String"}, two = {"sentence2", "#2 String"};
  const auto trec_splits =
      test_for_validation({"train.txt", "train_5500.label"}, {"test.txt", "TREC_10.label"});
  std::vector<Task> tasks;
  tasks.push_back(glue_task("cola", "CoLA", {"unacceptable", "acceptable"},
                            {"matthews_correlation"}, {"sentence"}, {}, {"label"}));
  tasks.push_back(mnli());
  tasks.push_back(glue_task("mrpc", "MRPC", {"not_equivalent", "equivalent"}, kAccuracyAndF1, one,
                            two, {"Quality", "label"}));
  tasks.push_back(glue_task("qnli", "QNLI", {"entailment", "not_entailment"}, kAccuracy,
                            {"question"}, {"sentence"}, {"label"}));
  tasks.push_back(glue_task("qqp", "QQP", {"not_duplicate", "duplicate"}, kAccuracyAndF1,
                            {"question1"}, {"question2"}, {"is_duplicate", "label"}));
  tasks.push_back(
      glue_task("rte", "RTE", {"entailment", "not_entailment"}, kAccuracy, one, two, {"label"}));
  tasks.push_back(
      glue_task("sst2", "SST-2", {"negative", "positive"}, kAccuracy, {"sentence"}, {}, {"label"}));
  tasks.push_back(
      glue_task("stsb", "STS-B", {}, {"pearson", "spearmanr"}, one, two, {"score", "label"}));
  tasks.push_back(
      glue_task("wnli", "WNLI", {"not_entailment", "entailment"}, kAccuracy, one, two, {"label"}));
  tasks.push_back(
      other_task("sst5", "sst_trees", TaskLayout::sst_trees,
                 {"very negative", "negative", "neutral", "positive", "very positive"},
                 {{"train", {"train.txt"}}, {"validation", {"dev.txt"}}, {"test", {"test.txt"}}}));
  tasks.push_back(other_task("trec6", "trec", TaskLayout::trec_coarse,
                             {"ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM"}, trec_splits));
  tasks.push_back(
      other_task("trec50", "trec", TaskLayout::trec_fine, trec_fine_labels(), trec_splits));
  tasks.push_back(
      other_task("subj", "subj", TaskLayout::subj, {"objective", "subjective"},
                 {{"train", {"plot.tok.gt9.5000"}}, {"validation", {"plot.tok.gt9.5000"}}}));
  tasks.push_back(glue_task("imdb", "imdb", {"negative", "positive"}, kAccuracyAndF1,
                            {"sentence", "text", "review"}, {}, {"label", "sentiment"}));
  tasks.back().splits =
      test_for_validation({"train.tsv", "train.tsv.xz"}, {"test.tsv", "test.tsv.xz"});
  tasks.push_back(other_task("reviews", "", TaskLayout::reviews, {"negative", "positive"},
                             {{"train", {}}, {"validation", {}}, {"test", {}}}));
  for (Task& task : image_tasks()) tasks.push_back(std::move(task));
  return tasks;
}

}  // namespace

std::vector<std::string> image_metrics() { return {"accuracy", "top5_accuracy"}; }

const std::vector<Task>& all_tasks() {
  static const std::vector<Task> tasks = make_tasks();
  return tasks;
}

const Task* find_task(std::string_view name) {
  for (const Task& task : all_tasks()) {
    if (normal_label(task.name) == normal_label(name)) return &task;
  }
  return nullptr;
}

std::vector<std::string> evaluation_splits(const Task& task) {
  std::vector<std::string> names;
  for (const TaskSplit& split : task.splits) {
    if (split.name.starts_with("validation")) names.push_back(split.name);
  }
  return names;
}

}  // namespace hone::data

#include "cli/eval_data.h"

namespace hone::cli {

void declare(Arguments& arguments, data::LabelledData& data) {
  arguments.text("--task_name", "TASK", data.task,
                 "cola mnli mrpc qnli qqp rte sst2 stsb wnli\nsst5 trec6 trec50 subj imdb, or of "
                 "images:\nimage cifar10 mnist fashion_mnist");
  arguments.text("--data", "DIR", data.folder, "the task's folder, or one in GLUE's layout");
  arguments.text("--split", "NAME", data.split, "default: validation; of mnli both");
  arguments.text("--validation_file", "FILE", data.validation_file,
                 "own file: a label column, one or two texts");
  arguments.text("--validation_dir", "DIR", data.validation_folder,
                 "a folder of images for each class");
  arguments.text("--test_file", "FILE", data.test_file, "the same");
}

}  // namespace hone::cli

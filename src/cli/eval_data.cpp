#include "cli/eval_data.h"

#include "base/error.h"
#include "models/folder.h"

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

void match_samples(const std::string& model, data::LabelledData& data) {
  const auto name = [](bool images) { return images ? "images" : "texts"; };
  data.images = models::samples_of(model) == data::SampleKind::image;
  const data::Task* task = task_of(data);
  const bool own_images = data.task == data::kOwnImages || !data.validation_folder.empty();
  if (!task && !own_images) return;
  const bool images = task ? task->images() : own_images;
  if (images == data.images) return;
  fail(ErrorKind::usage, "data.task: has {}, and {} reads {}", name(images), model,
       name(data.images));
}

}  // namespace hone::cli

#include "train/teacher.h"

#include "base/clock.h"
#include "base/error.h"
#include "data/text_processor.h"
#include "io/folder.h"
#include "models/stored_weights.h"
#include "train/evaluator.h"

namespace hone::train {
namespace {

/// A teacher's folder, opened.
struct Teacher {
  explicit Teacher(const Options& options)
      : folder(models::open_model_folder(io::resolve_model(options.distill.teacher))),
        weights(models::open_checkpoint(folder.path)),
        adapter(models::open_adapter(folder)) {
    const models::Family& family = models::family_of(*folder.config);
    if (!models::has_head_weights(family, *weights, adapter.get())) {
      fail(ErrorKind::usage, "distill.teacher: {} has no classification head, and so no answers",
           folder.path);
    }
    processor = family.open_processor(*folder.config, {.path = folder.path,
                                                       .model = folder.path,
                                                       .max_units = options.model.max_length,
                                                       .clamps = true});
  }

  models::ModelFolder folder;
  std::unique_ptr<io::Weights> weights;
  std::unique_ptr<models::Adapter> adapter;
  std::unique_ptr<data::Processor> processor;
};

std::string list_of(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ", ") + label;
  return text;
}

void check_labels(const Teacher& teacher, const models::ModelConfig& student) {
  const models::ModelConfig& config = *teacher.folder.config;
  if (config.problem == student.problem && config.labels == student.labels) return;
  fail(ErrorKind::usage, "distill.teacher: {} has other labels: {} instead of {}",
       teacher.folder.path, quote(list_of(config.labels)), quote(list_of(student.labels)));
}

/// The samples are encoded once, so that both must read the same ids.
void check_vocabulary(const Teacher& teacher, const data::Processor& student) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::usage, "distill.teacher: {} has another vocabulary: {}", teacher.folder.path,
         why);
  };
  if (teacher.processor->max_units() < student.max_units()) {
    fail(ErrorKind::usage, "distill.teacher: {} takes {} {}, the model {}; give `max_length`",
         teacher.folder.path, teacher.processor->max_units(), student.unit_name(),
         student.max_units());
  }
  const auto* own = dynamic_cast<const data::TextProcessor*>(&student);
  const auto* other = dynamic_cast<const data::TextProcessor*>(teacher.processor.get());
  if (!own || !other) {
    if (student.hash() != teacher.processor->hash()) refuse("samples are made in another way");
    return;
  }
  const text::Tokenizer& ours = own->tokenizer();
  const text::Tokenizer& theirs = other->tokenizer();
  if (ours.id_end() != theirs.id_end()) {
    refuse(fmt::format("{} tokens instead of {}", theirs.id_end(), ours.id_end()));
  }
  for (int32_t id = 0; id < ours.id_end(); ++id) {
    if (ours.token_of(id) == theirs.token_of(id)) continue;
    refuse(fmt::format("token {} is {} instead of {}", id, quote(theirs.token_of(id)),
                       quote(ours.token_of(id))));
  }
}

}  // namespace

ops::DistillOptions distillation(const Options& options, const TrainedModel& student) {
  const DistillOptions& distill = options.distill;
  if (distill.teacher.empty()) return {};
  if (!options.class_weights.empty() || options.balanced_class_weights) {
    fail(ErrorKind::usage, "class_weights: not together with `distill.teacher`");
  }
  const bool self = distill.teacher == kSelf;
  if (!self) {
    const Teacher teacher(options);
    check_labels(teacher, student.config());
    check_vocabulary(teacher, student.processor());
  } else if (student.config().exits.method == models::ExitMethod::none) {
    fail(ErrorKind::usage, "distill.teacher: the last layer teaches exits; give `model.exits`");
  }
  return {distill.weight, distill.temperature, self};
}

void teach(const Options& options, Datasets& data, ThreadPool& pool, Observer& observer) {
  if (options.distill.teacher.empty() || options.distill.teacher == kSelf) return;
  const Stopwatch watch;
  const data::SampleStore& store = data.training->store;
  const Teacher teacher(options);
  const auto model =
      models::make_model(*teacher.folder.config, {DType::f32, Target::of(options.gpu), true, {}});
  models::load_weights(*model, *teacher.weights, pool, {.adapter = teacher.adapter.get()});
  Evaluator evaluator(*model, *teacher.processor, pool, {}, options.planned);
  evaluator.reserve(store);
  evaluator.run(store, {0, store.samples()}, [&](int64_t, std::span<const float> row) {
    data.teacher.insert(data.teacher.end(), row.begin(), row.end());
  });
  observer.say(fmt::format("{} has answered {} samples in {:.1f} s", options.distill.teacher,
                           store.samples(), watch.seconds()));
}

}  // namespace hone::train

// Every option of `hone train` is one of TrainingOptions, or is named here with a reason.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "api/training_options.h"
#include "cli/commands.h"
#include "cli/train_options.h"

namespace hone::parity {
namespace {

/// What `hone train` has and the library has not, and why.
const std::map<std::string, std::string> kOfTheProgram = {
    {"--help", "it prints"},
    {"--help-all", "it prints"},
    {"--version", "version()"},
    {"--json", "the summary is a struct"},
    {"--quiet", "the observer hears, and prints or does not"},
    {"--dtype", "training's are bf16 and fp16"},
    {"--do_train", "train_model() trains"},
    {"--do_eval", "evaluate() scores"},
    {"--do_predict", "Model::predict() labels"},
    {"--test_file", "Model::predict() labels"},
    {"--seeds", "train_model() is called for each"},
    {"--no_plan", "what a plan is worth is measured by the program"},
    {"--per_device_eval_batch_size", "it changes nothing"},
    {"--report_to", "it changes nothing"},
    {"--ignore_mismatched_sizes", "it changes nothing"},
    {"--strategy", "train_model() is one process and one device"},
    {"--dp_devices", "train_model() is one process and one device"},
    {"--virtual_ranks", "train_model() is one process and one device"},
    {"--balance", "train_model() is one process and one device"},
    {"--nproc-per-node", "the program starts processes"},
    {"--max-restarts", "the program starts processes"},
    {"--min_ranks", "the program starts processes"},
    {"--comm_timeout", "the program starts processes"},
    {"--no_overlap", "the program starts processes"},
    {"--nnodes", "the program starts processes"},
};

template <typename T>
std::string shown(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else {
    return fmt::format("{}", value);
  }
}
template <typename T>
std::string shown(const std::optional<T>& value) {
  return value ? shown(*value) : "none";
}

using Told = std::function<std::string(const train::Options&)>;

template <typename Value>
Told told(Value value) {
  return [value](const train::Options& run) { return shown(value(run)); };
}

/// An option in both spellings, and what a run is told by it.
struct Option {
  std::string words;
  void (*set)(TrainingOptions& options);
  Told told;
};

using O = TrainingOptions;
using R = const train::Options;

std::vector<Option> options_of_models() {
  return {
      {"--model DIR", [](O& o) { o.model = "DIR"; }, told([](R& r) { return r.model.model; })},
      {"--config_name F", [](O& o) { o.config_name = "F"; },
       told([](R& r) { return r.model.config; })},
      {"--model_type lstm", [](O& o) { o.model_type = "lstm"; },
       told([](R& r) { return r.model.type; })},
      {"--config_overrides a=1", [](O& o) { o.config_overrides = "a=1"; },
       told([](R& r) { return r.model.overrides; })},
      {"--tokenizer_name DIR", [](O& o) { o.tokenizer_name = "DIR"; },
       told([](R& r) { return r.model.tokenizer; })},
      {"--max_seq_length 64", [](O& o) { o.max_seq_length = 64; },
       told([](R& r) { return r.model.max_length; })},
      {"--freeze a.*", [](O& o) { o.freeze = "a.*"; }, told([](R& r) { return r.model.freeze; })},
      {"--lora_rank 4", [](O& o) { o.lora_rank = 4; },
       told([](R& r) { return r.model.lora ? r.model.lora->rank : 0; })},
      {"--lora_alpha 3 --lora_rank 4", [](O& o) { o.lora_rank = 4, o.lora_alpha = 3; },
       told([](R& r) { return r.model.lora ? r.model.lora->alpha : 0; })},
      {"--lora_dropout 0.5 --lora_rank 4", [](O& o) { o.lora_rank = 4, o.lora_dropout = 0.5; },
       told([](R& r) { return r.model.lora ? r.model.lora->dropout : 0; })},
      {"--lora_target_modules a,b --lora_rank 4",
       [](O& o) {
         o.lora_rank = 4;
         o.lora_target_modules = {"a", "b"};
       },
       told([](R& r) { return r.model.lora.value_or(nn::LoraOptions()).targets; })},
      {"--early_exit adaptive", [](O& o) { o.early_exit = "adaptive"; },
       told([](R& r) { return r.model.exits; })},
      {"--exit_cost_weight 0.5", [](O& o) { o.exit_cost_weight = 0.5; },
       told([](R& r) { return r.model.exit_cost_weight; })},
      {"--exit_cost F", [](O& o) { o.exit_cost = "F"; },
       told([](R& r) { return r.model.exit_cost; })},
      {"--distill DIR", [](O& o) { o.distill = "DIR"; },
       told([](R& r) { return r.distill.teacher; })},
      {"--distill_temperature 3 --distill D",
       [](O& o) { o.distill = "D", o.distill_temperature = 3; },
       told([](R& r) { return r.distill.temperature; })},
      {"--distill_weight 0.25 --distill D", [](O& o) { o.distill = "D", o.distill_weight = 0.25; },
       told([](R& r) { return r.distill.weight; })},
      {"--explain", [](O& o) { o.explain = true; }, told([](R& r) { return r.explain.on; })},
      {"--trees A B",
       [](O& o) {
         o.trees = {"A", "B"};
       },
       told([](R& r) { return r.explain.trees; })},
      {"--parser DIR", [](O& o) { o.parser = "DIR"; }, told([](R& r) { return r.explain.parser; })},
      {"--concept_dtype int8", [](O& o) { o.concept_dtype = "int8"; },
       told([](R& r) { return r.explain.store_dtype; })},
      {"--concept_words 4", [](O& o) { o.concept_words = 4; },
       told([](R& r) { return r.explain.settings.concept_words; })},
      {"--explain_neighbours 4", [](O& o) { o.explain_neighbours = 4; },
       told([](R& r) { return r.explain.settings.neighbours; })},
      {"--mask_phrases 0.5", [](O& o) { o.mask_phrases = 0.5; },
       told([](R& r) { return r.explain.mask_phrases; })},
  };
}

std::vector<Option> options_of_data() {
  return {
      {"--train_file F", [](O& o) { o.train_file = "F"; },
       told([](R& r) { return r.data.train_file; })},
      {"--validation_file F", [](O& o) { o.validation_file = "F"; },
       told([](R& r) { return r.data.validation_file; })},
      {"--task_name sst2", [](O& o) { o.task_name = "sst2"; },
       told([](R& r) { return r.data.task; })},
      {"--data DIR", [](O& o) { o.data = "DIR"; }, told([](R& r) { return r.data.folder; })},
      {"--train_dir DIR", [](O& o) { o.train_dir = "DIR"; },
       told([](R& r) { return r.data.train_folder; })},
      {"--validation_dir DIR", [](O& o) { o.validation_dir = "DIR"; },
       told([](R& r) { return r.data.validation_folder; })},
      {"--train_val_split 0.25", [](O& o) { o.train_val_split = 0.25; },
       told([](R& r) { return r.data.validation_share; })},
      {"--max_train_samples 9", [](O& o) { o.max_train_samples = 9; },
       told([](R& r) { return r.data.max_train_samples; })},
      {"--max_eval_samples 9", [](O& o) { o.max_eval_samples = 9; },
       told([](R& r) { return r.data.max_eval_samples; })},
      {"--train_fraction 0.5", [](O& o) { o.train_fraction = 0.5; },
       told([](R& r) { return r.data.train_fraction; })},
      {"--label_noise 0.5", [](O& o) { o.label_noise = 0.5; },
       told([](R& r) { return r.data.label_noise; })},
      {"--skip_bad_images", [](O& o) { o.skip_bad_images = true; },
       told([](R& r) { return r.data.skip_bad; })},
      {"--max_image_pixels 99", [](O& o) { o.max_image_pixels = 99; },
       told([](R& r) { return r.data.image_limits.max_pixels; })},
      {"--random_resized_crop", [](O& o) { o.random_resized_crop = true; },
       told([](R& r) { return r.data.augment && r.data.augment->resized_crop; })},
      {"--random_flip", [](O& o) { o.random_flip = true; },
       told([](R& r) { return r.data.augment && r.data.augment->flip; })},
      {"--random_crop_padding 4", [](O& o) { o.random_crop_padding = 4; },
       told([](R& r) { return r.data.augment ? r.data.augment->crop_padding : 0; })},
      {"--cutout 4", [](O& o) { o.cutout = 4; },
       told([](R& r) { return r.data.augment ? r.data.augment->cutout : 0; })},
      {"--mixup_alpha 0.5", [](O& o) { o.mixup_alpha = 0.5; },
       told([](R& r) { return r.data.augment ? r.data.augment->mixup_alpha : 0; })},
      {"--cutmix_alpha 0.5", [](O& o) { o.cutmix_alpha = 0.5; },
       told([](R& r) { return r.data.augment ? r.data.augment->cutmix_alpha : 0; })},
      {"--no_augment", [](O& o) { o.no_augment = true; },
       told([](R& r) { return r.data.augment && !r.data.augment->any(); })},
      {"--per_device_train_batch_size 3", [](O& o) { o.per_device_train_batch_size = 3; },
       told([](R& r) { return r.batch.train; })},
      {"--max_tokens_per_batch 99", [](O& o) { o.max_tokens_per_batch = 99; },
       told([](R& r) { return r.batch.max_tokens; })},
      {"--gradient_accumulation_steps 3", [](O& o) { o.gradient_accumulation_steps = 3; },
       told([](R& r) { return r.batch.accumulation; })},
      {"--auto_find_batch_size", [](O& o) { o.auto_find_batch_size = true; },
       told([](R& r) { return r.batch.find_size; })},
      {"--group_by_length", [](O& o) { o.group_by_length = true; },
       told([](R& r) { return r.batch.group_by_length; })},
      {"--dataloader_num_workers 3", [](O& o) { o.dataloader_num_workers = 3; },
       told([](R& r) { return r.batch.workers; })},
  };
}

std::vector<Option> options_of_recipes() {
  return {
      {"--num_train_epochs 9", [](O& o) { o.num_train_epochs = 9; },
       told([](R& r) { return r.epochs; })},
      {"--max_steps 9", [](O& o) { o.max_steps = 9; }, told([](R& r) { return r.max_steps; })},
      {"--learning_rate 0.5", [](O& o) { o.learning_rate = 0.5; },
       told([](R& r) { return r.learning_rate; })},
      {"--lr_scheduler_type cosine", [](O& o) { o.lr_scheduler_type = "cosine"; },
       told([](R& r) { return r.schedule; })},
      {"--lr_step_size 9", [](O& o) { o.lr_step_size = 9; },
       told([](R& r) { return r.step_size_epochs; })},
      {"--lr_gamma 0.5", [](O& o) { o.lr_gamma = 0.5; }, told([](R& r) { return r.gamma; })},
      {"--warmup_steps 9", [](O& o) { o.warmup_steps = 9; },
       told([](R& r) { return r.warmup_steps; })},
      {"--warmup_ratio 0.5", [](O& o) { o.warmup_ratio = 0.5; },
       told([](R& r) { return r.warmup_ratio; })},
      {"--optim sgd", [](O& o) { o.optim = "sgd"; }, told([](R& r) { return r.optimizer.kind; })},
      {"--adam_beta1 0.5", [](O& o) { o.adam_beta1 = 0.5; },
       told([](R& r) { return r.optimizer.beta1; })},
      {"--adam_beta2 0.5", [](O& o) { o.adam_beta2 = 0.5; },
       told([](R& r) { return r.optimizer.beta2; })},
      {"--adam_epsilon 0.5", [](O& o) { o.adam_epsilon = 0.5; },
       told([](R& r) { return r.optimizer.eps; })},
      {"--momentum 0.5", [](O& o) { o.momentum = 0.5; },
       told([](R& r) { return r.optimizer.momentum; })},
      {"--nesterov", [](O& o) { o.nesterov = true; },
       told([](R& r) { return r.optimizer.nesterov; })},
      {"--weight_decay 0.5", [](O& o) { o.weight_decay = 0.5; },
       told([](R& r) { return r.optimizer.weight_decay; })},
      {"--max_grad_norm 0.5", [](O& o) { o.max_grad_norm = 0.5; },
       told([](R& r) { return r.optimizer.max_grad_norm; })},
      {"--label_smoothing_factor 0.5", [](O& o) { o.label_smoothing_factor = 0.5; },
       told([](R& r) { return r.label_smoothing; })},
      {"--class_weights 1,2",
       [](O& o) {
         o.class_weights = {1, 2};
       },
       told([](R& r) { return r.class_weights; })},
      {"--class_weights balanced", [](O& o) { o.balanced_class_weights = true; },
       told([](R& r) { return r.balanced_class_weights; })},
      {"--pos_weights 1,2",
       [](O& o) {
         o.pos_weights = {1, 2};
       },
       told([](R& r) { return r.positive_weights; })},
      {"--ema_decay 0.5", [](O& o) { o.ema_decay = 0.5; },
       told([](R& r) { return r.average_decay; })},
      {"--seed 9", [](O& o) { o.seed = 9; }, told([](R& r) { return r.seed; })},
      {"--bf16", [](O& o) { o.bf16 = true; }, told([](R& r) { return r.step.dtype; })},
      {"--fp16", [](O& o) { o.fp16 = true; }, told([](R& r) { return r.step.dtype; })},
      {"--gradient_checkpointing", [](O& o) { o.gradient_checkpointing = true; },
       told([](R& r) { return r.step.checkpoint_segments; })},
      {"--checkpoint_segments 2", [](O& o) { o.checkpoint_segments = 2; },
       told([](R& r) { return r.step.checkpoint_segments; })},
  };
}

std::vector<Option> options_of_runs() {
  return {
      {"--output_dir DIR", [](O& o) { o.output_dir = "DIR"; }, told([](R& r) { return r.output; })},
      {"--overwrite_output_dir", [](O& o) { o.overwrite_output_dir = true; },
       told([](R& r) { return r.overwrite; })},
      {"--resume_from_checkpoint last", [](O& o) { o.resume_from_checkpoint = "last"; },
       told([](R& r) { return r.resume; })},
      {"--eval_strategy no", [](O& o) { o.eval_strategy = Strategy::no; },
       told([](R& r) { return r.evaluation.kind; })},
      {"--eval_steps 9", [](O& o) { o.eval_steps = 9; },
       told([](R& r) { return r.evaluation.steps; })},
      {"--save_strategy steps", [](O& o) { o.save_strategy = Strategy::steps; },
       told([](R& r) { return r.saving.kind; })},
      {"--save_steps 9", [](O& o) { o.save_steps = 9; }, told([](R& r) { return r.saving.steps; })},
      {"--save_total_limit 9", [](O& o) { o.save_total_limit = 9; },
       told([](R& r) { return r.save_total_limit; })},
      {"--logging_steps 9", [](O& o) { o.logging_steps = 9; },
       told([](R& r) { return r.logging_steps; })},
      {"--load_best_model_at_end", [](O& o) { o.load_best_model_at_end = true; },
       told([](R& r) { return r.stopping.load_best; })},
      {"--metric_for_best_model f1", [](O& o) { o.metric_for_best_model = "f1"; },
       told([](R& r) { return r.stopping.metric; })},
      {"--greater_is_better false", [](O& o) { o.greater_is_better = false; },
       told([](R& r) { return r.stopping.greater_is_better; })},
      {"--early_stopping_patience 9", [](O& o) { o.early_stopping_patience = 9; },
       told([](R& r) { return r.stopping.patience; })},
      {"--early_stopping_threshold 0.5", [](O& o) { o.early_stopping_threshold = 0.5; },
       told([](R& r) { return r.stopping.threshold; })},
      {"--device cuda:1", [](O& o) { o.device = "cuda:1"; }, told([](R& r) { return r.device; })},
      {"--tuning F", [](O& o) { o.tuning = "F"; }, told([](R& r) { return r.tuning; })},
      {"--threads 3", [](O& o) { o.threads = 3; }, told([](R& r) { return r.threads; })},
  };
}

const std::vector<Option>& options_of_both() {
  static const std::vector<Option> all = [] {
    std::vector<Option> made;
    for (const auto& some :
         {options_of_models(), options_of_data(), options_of_recipes(), options_of_runs()}) {
      made.insert(made.end(), some.begin(), some.end());
    }
    return made;
  }();
  return all;
}

/// Gives what the program runs for these words. Its device is automatic where none is named.
train::Options by_program(const std::string& words) {
  cli::Arguments arguments("train", "");
  cli::TrainOptions parsed;
  parsed.declare(arguments);
  std::istringstream stream(words);
  cli::Words list;
  for (std::string word; stream >> word;) list.push_back(word);
  if (words.find("--device") == std::string::npos) list.insert(list.end(), {"--device", "cpu"});
  std::string answer;
  EXPECT_TRUE(arguments.parse(list, answer)) << words;
  return parsed.resolve(arguments.common());
}

TEST(ApiParity, AnOptionTellsARunWhatTheProgramTells) {
  const train::Options untold = by_program("");
  for (const Option& option : options_of_both()) {
    TrainingOptions options;
    option.set(options);
    const train::Options library = api::run_options(options), program = by_program(option.words);
    EXPECT_NE(option.told(program), option.told(untold)) << option.words;
    for (const Option& each : options_of_both()) {
      EXPECT_EQ(each.told(library), each.told(program)) << option.words << ": " << each.words;
    }
  }
}

TEST(ApiParity, EveryOptionOfTrainingIsInBothOrSaysWhyNot) {
  std::vector<std::string> unknown;
  for (const Option& option : options_of_both()) {
    unknown.push_back(option.words.substr(0, option.words.find(' ')));
  }
  for (const auto& [name, why] : kOfTheProgram) unknown.push_back(name);
  const auto is_known = [&](const std::string& name) {
    return std::find(unknown.begin(), unknown.end(), name) != unknown.end();
  };
  std::vector<std::string> declared;
  for (const cli::DeclaredOption& option : cli::declaration_of(cli::train).options) {
    EXPECT_TRUE(std::any_of(option.names.begin(), option.names.end(), is_known))
        << option.names.front() << " is of hone train; put it into TrainingOptions and "
        << "options_of_both(), or say in kOfTheProgram why it is not there";
    declared.insert(declared.end(), option.names.begin(), option.names.end());
  }
  for (const std::string& name : declared) std::erase(unknown, name);
  EXPECT_EQ(unknown, std::vector<std::string>()) << "hone train has no such options";
}

}  // namespace
}  // namespace hone::parity

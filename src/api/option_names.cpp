#include "api/option_names.h"

#include <algorithm>

namespace hone::api {
namespace {

constexpr OptionName kOptionNames[] = {
    {"average_decay", "ema_decay"},
    {"batch.accumulation", "gradient_accumulation_steps"},
    {"batch.find_size", "auto_find_batch_size"},
    {"batch.max_tokens", "max_tokens_per_batch"},
    {"batch.train", "per_device_train_batch_size"},
    {"checkpoint_segments", "gradient_checkpointing"},
    {"data.augment", "no_augment"},
    {"data.folder", "data"},
    {"data.task", "task_name"},
    {"data.train_file", "train_file"},
    {"data.validation_file", "validation_file"},
    {"distill.teacher", "distill"},
    {"evaluation", "eval_strategy"},
    {"explain", "explain"},
    {"explain.mask_phrases", "mask_phrases"},
    {"explain.parser", "parser"},
    {"explain.store_dtype", "concept_dtype"},
    {"explain.trees", "trees"},
    {"lora", "lora_rank"},
    {"lora.alpha", "lora_alpha"},
    {"lora.dropout", "lora_dropout"},
    {"lora.rank", "lora_rank"},
    {"lora.targets", "lora_target_modules"},
    {"max_length", "max_seq_length"},
    {"model.config", "config_name"},
    {"model.exits", "early_exit"},
    {"model.overrides", "config_overrides"},
    {"model.tokenizer", "tokenizer_name"},
    {"model.type", "model_type"},
    {"optimizer", "optim"},
    {"output", "output_dir"},
    {"overwrite", "overwrite_output_dir"},
    {"positive_weights", "pos_weights"},
    {"resume", "resume_from_checkpoint"},
    {"saving", "save_strategy"},
    {"schedule", "lr_scheduler_type"},
    {"skip_bad", "skip_bad_images"},
    {"stopping.load_best", "load_best_model_at_end"},
    {"stopping.metric", "metric_for_best_model"},
};

}  // namespace

std::span<const OptionName> option_names() { return kOptionNames; }

std::string_view option_of(std::string_view field) {
  const auto* const found =
      std::find_if(std::begin(kOptionNames), std::end(kOptionNames),
                   [&](const OptionName& entry) { return entry.field == field; });
  return found == std::end(kOptionNames) ? std::string_view() : found->option;
}

}  // namespace hone::api

#include "cli/flag_names.h"

#include <algorithm>

#include "base/field_names.h"

namespace hone::cli {
namespace {

constexpr FieldFlag kFieldFlags[] = {
    {"address", "--hostname"},
    {"average_decay", "--ema_decay"},
    {"batch.accumulation", "--gradient_accumulation_steps"},
    {"batch.find_size", "--auto_find_batch_size"},
    {"batch.max_tokens", "--max_tokens_per_batch"},
    {"batch.train", "--per_device_train_batch_size"},
    {"checkpoint_segments", "--gradient_checkpointing"},
    {"class_weights", "--class_weights"},
    {"confidence", "--confidence"},
    {"data.augment", "--no_augment"},
    {"data.folder", "--data"},
    {"data.task", "--task_name"},
    {"data.test_file", "--test_file"},
    {"data.train_file", "--train_file"},
    {"data.validation_file", "--validation_file"},
    {"deadline", "--deadline-ms"},
    {"device", "--device"},
    {"distill.teacher", "--distill"},
    {"dtype", "--dtype"},
    {"entropy", "--entropy"},
    {"evaluation", "--eval_strategy"},
    {"exit_cost", "--exit_cost"},
    {"explain", "--explain"},
    {"explain.build_store", "--build-store"},
    {"explain.mask_phrases", "--mask_phrases"},
    {"explain.parser", "--parser"},
    {"explain.store_dtype", "--concept_dtype"},
    {"explain.trees", "--trees"},
    {"freeze", "--freeze"},
    {"lora", "--lora_rank"},
    {"lora.alpha", "--lora_alpha"},
    {"lora.dropout", "--lora_dropout"},
    {"lora.rank", "--lora_rank"},
    {"lora.targets", "--lora_target_modules"},
    {"max_length", "--max_seq_length"},
    {"max_steps", "--max_steps"},
    {"memory_budget", "--memory-budget"},
    {"model", "--model"},
    {"model.config", "--config_name"},
    {"model.exits", "--early_exit"},
    {"model.overrides", "--config_overrides"},
    {"model.tokenizer", "--tokenizer_name"},
    {"model.type", "--model_type"},
    {"optimizer", "--optim"},
    {"output", "--output_dir"},
    {"overwrite", "--overwrite_output_dir"},
    {"parallel.balance", "--balance"},
    {"parallel.strategy", "--strategy"},
    {"parallel.virtual_ranks", "--virtual_ranks"},
    {"patience", "--patience"},
    {"port", "--port"},
    {"positive_weights", "--pos_weights"},
    {"predict", "--do_predict"},
    {"prep.input", "--input"},
    {"prep.max_length", "--max_length"},
    {"prep.output", "--output"},
    {"prep.tokenizer", "--tokenizer"},
    {"prep.vocabulary", "--vocabulary"},
    {"prices", "--prices"},
    {"records", "--from"},
    {"resume", "--resume_from_checkpoint"},
    {"saving", "--save_strategy"},
    {"schedule", "--lr_scheduler_type"},
    {"skip_bad", "--skip_bad_images"},
    {"stopping.load_best", "--load_best_model_at_end"},
    {"stopping.metric", "--metric_for_best_model"},
    {"stream", "--stream"},
    {"target_layers", "--target-layers"},
    {"target_ms", "--target-ms"},
};

/// Gives the flag of a field, empty where the table does not have the field.
std::string_view flag_of(std::string_view field) {
  const auto* const found =
      std::find_if(std::begin(kFieldFlags), std::end(kFieldFlags),
                   [&](const FieldFlag& entry) { return entry.field == field; });
  return found == std::end(kFieldFlags) ? std::string_view() : found->flag;
}

}  // namespace

std::span<const FieldFlag> field_flags() { return kFieldFlags; }

std::string with_flags(const Error& error) { return with_names(error, flag_of); }

}  // namespace hone::cli

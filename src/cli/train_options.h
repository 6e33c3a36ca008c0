#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/image_flags.h"
#include "train/options.h"

namespace hone::cli {

/// The words of `hone train`, in run_glue's and Trainer's spelling.
class TrainOptions {
 public:
  void declare(Arguments& arguments);
  /// Says what the words mean together, after parse(); contradictions are usage errors.
  train::Options resolve(const CommonOptions& common);
  /// Gives --seeds, or --seed alone.
  const std::vector<uint64_t>& seeds() const { return seeds_; }

 private:
  void declare_data(Arguments& arguments);
  void declare_recipe(Arguments& arguments);
  void declare_run(Arguments& arguments);
  void declare_advanced(Arguments& arguments);
  void declare_explain(Arguments& arguments);
  void declare_parallel(Arguments& arguments);
  void resolve_recipe();
  void resolve_intervals();
  void resolve_lora();
  void resolve_distillation();
  void resolve_parallel();
  void resolve_precision(const CommonOptions& common);

  train::Options options_;
  ImageFlags images_;
  bool do_train_ = false, do_eval_ = false, do_predict_ = false;
  int64_t seed_ = 42;
  std::string seeds_text_;
  std::vector<uint64_t> seeds_;
  double learning_rate_ = -1, epochs_ = 0;  ///< what is trained decides where they are not given
  int64_t batch_size_ = 0;
  int64_t eval_batch_size_ = 0;  ///< accepted; see the help
  double label_smoothing_ = 0;
  std::string class_weights_, positive_weights_;
  std::string optimizer_ = "adamw", schedule_ = "linear";
  std::string evaluation_, saving_;
  int64_t evaluation_steps_ = 0;
  std::string greater_is_better_;
  std::string report_to_;
  int64_t workers_ = 1;
  bool gradient_checkpointing_ = false;
  bool bf16_ = false, fp16_ = false, no_plan_ = false;
  nn::LoraOptions lora_;
  int64_t lora_rank_ = 0;
  double lora_alpha_ = 0;
  std::string lora_targets_;
  std::string early_exit_;
  std::string concept_dtype_ = "fp32";
  double distill_temperature_ = 0, distill_weight_ = 0;  ///< 0: not given
  std::string strategy_, balance_ = "off";
  int64_t devices_ = 0;
};

}  // namespace hone::cli

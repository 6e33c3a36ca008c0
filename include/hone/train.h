#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hone/error.h"

/// Training as `hone train` does it: options in, a model folder out. An observer hears of every
/// step on the way, and may end the run.
namespace hone {

/// Says when something is done.
enum class Strategy {
  no,
  steps,  ///< every so many steps
  epoch,  ///< the end of every epoch
};

/// Names and defaults are those of Hugging Face's Trainer and run_glue, where they have them.
struct TrainingOptions {
  /// A folder or a name in the local cache to start from. Empty: a new model is trained, that of
  /// `config_name`, else a small built-in one that reads the built-in reviews.
  std::string model;
  std::string config_name;       ///< the config.json of a new model, or its folder
  std::string model_type;        ///< a new model of this kind: "lstm", "resnet18", "resnet50-cifar"
  std::string config_overrides;  ///< fields of the new model's config: "hidden_size=64,dropout=0.3"
  std::string tokenizer_name;    ///< empty: the model's own; of images their processor's folder
  int64_t max_seq_length = 128;  ///< tokens of a text, special ones included
  std::string freeze;            ///< patterns of weights that stay as they are: "embeddings.*"

  /// Own files are CSV, TSV or JSON lines: a label column, one or two texts, or an image's path.
  std::string train_file;
  std::string validation_file;
  /// The task where there are no files: "sst2", "mnli", ... of the folder `data`; "image" for
  /// folders of images; "parse" for trees. Empty: the built-in reviews.
  std::string task_name;
  std::string data;
  std::string train_dir;       ///< a folder of images for each class
  std::string validation_dir;  ///< such a folder, to validate on
  /// Share of each class's images that is set apart where nothing else validates.
  double train_val_split = 0.15;
  int64_t max_train_samples = -1;  ///< -1: all
  int64_t max_eval_samples = -1;
  double train_fraction = 1;  ///< trains on a random sample of so large a share
  double label_noise = 0;     ///< share of wrong labels in the built-in reviews

  std::optional<double> num_train_epochs;              ///< absent: 3, or 4 of the built-in model
  int64_t max_steps = -1;                              ///< where positive, instead of epochs
  std::optional<int64_t> per_device_train_batch_size;  ///< absent: 8, or 32 of a new model
  int64_t max_tokens_per_batch = 0;                    ///< 0: no limit
  int64_t gradient_accumulation_steps = 1;             ///< batches of a step
  bool auto_find_batch_size = false;  ///< smaller batches, more of them, where memory is short
  bool group_by_length = false;       ///< texts of like lengths in a batch
  int dataloader_num_workers = 1;     ///< threads that make batches ahead

  std::optional<double> learning_rate;  ///< absent: 5e-5, or 3e-4 of a new model
  /// "linear", "cosine", "constant", "step", "one_cycle"
  std::string lr_scheduler_type = "linear";
  int64_t lr_step_size = 30;  ///< read by "step": epochs between its falls
  double lr_gamma = 0.1;      ///< read by "step": factor of a fall
  int64_t warmup_steps = 0;
  double warmup_ratio = 0;      ///< share of the steps; not read where `warmup_steps` is positive
  std::string optim = "adamw";  ///< "adamw", "adamw_8bit", "adafactor", "sgd"
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double momentum = 0;    ///< read by sgd
  bool nesterov = false;  ///< read by sgd with momentum
  double weight_decay = 0;
  double max_grad_norm = 1;  ///< 0: gradients are not clipped
  double label_smoothing_factor = 0;
  std::vector<float> class_weights;     ///< by class
  bool balanced_class_weights = false;  ///< weights follow from the classes' frequencies instead
  std::vector<float> pos_weights;       ///< by label, of a multi-label loss
  double ema_decay = 0;                 ///< above 0, the model is a moving average of the weights
  uint64_t seed = 42;

  bool bf16 = false;                    ///< products in bf16, weights in fp32
  bool fp16 = false;                    ///< products in fp16, weights in fp32, with loss scaling
  bool gradient_checkpointing = false;  ///< activations are computed twice, and few are kept
  int64_t checkpoint_segments = 0;      ///< parts that the layers are cut into for it; 0: each

  int64_t lora_rank = 0;  ///< adapters of this rank are trained instead of the weights; 0: none
  std::optional<double> lora_alpha;  ///< absent: the rank
  double lora_dropout = 0;
  std::vector<std::string> lora_target_modules;  ///< none: queries and values; "all-linear"
  std::string early_exit;         ///< exits to train, too: "pabee", "deebert", "adaptive"
  double exit_cost_weight = 0.1;  ///< weight of what the layers of adaptive exits cost
  std::string exit_cost;          ///< a file of what layers cost; empty: all the same
  /// A model that teaches, of the same vocabulary and labels; "self": the last layer teaches exits.
  std::string distill;
  double distill_temperature = 2;
  double distill_weight = 0.5;  ///< weight of the teacher's part of the loss

  bool explain = false;                ///< the model learns to explain itself, for Explainer
  std::vector<std::string> trees;      ///< files of trees over the training rows' texts
  std::string parser;                  ///< a parser's folder, for texts that have no tree
  int64_t concept_words = 5;           ///< most words of a concept
  int64_t explain_neighbours = 5;      ///< concepts that are looked up for a text
  std::string concept_dtype = "fp32";  ///< what the store of concepts keeps: "fp32", "bf16", "int8"
  double mask_phrases = 0;             ///< share of the samples that lose a phrase

  /// What training changes of images. Where nothing is set, it is what suits the data set.
  bool random_resized_crop = false;       ///< parts of images, resized
  bool random_flip = false;               ///< every second image is mirrored
  int64_t random_crop_padding = 0;        ///< images are moved by up to so many pixels
  int64_t cutout = 0;                     ///< side of a square without content
  double mixup_alpha = 0;                 ///< images and labels are blended
  double cutmix_alpha = 0;                ///< parts of images are replaced
  bool no_augment = false;                ///< images stay as they are
  bool skip_bad_images = false;           ///< images that cannot be read are left out
  int64_t max_image_pixels = 89'478'485;  ///< larger images are refused

  std::string output_dir = "hone-run";  ///< the model lies there; checkpoints below it
  bool overwrite_output_dir = false;    ///< drop an earlier run there
  std::string resume_from_checkpoint;   ///< a checkpoint's folder, or "last"
  Strategy eval_strategy = Strategy::epoch;
  int64_t eval_steps = 0;  ///< 0: `logging_steps`, or 500
  Strategy save_strategy = Strategy::epoch;
  int64_t save_steps = 500;
  int64_t save_total_limit = 0;           ///< 0: all are kept
  int64_t logging_steps = 0;              ///< 0: about twenty times in all
  bool load_best_model_at_end = false;    ///< the final model is the best one
  std::string metric_for_best_model;      ///< empty: the loss
  std::optional<bool> greater_is_better;  ///< absent: true unless the metric is a loss
  int64_t early_stopping_patience = 0;  ///< evaluations without a gain; 0: the run goes to its end
  double early_stopping_threshold = 0;  ///< a smaller gain is none

  std::string device = "cpu";  ///< "cpu", "cuda", "cuda:1", "auto"; see ModelOptions
  std::string tuning;          ///< a GPU's file of products; see ModelOptions
  int threads = 0;             ///< 0: the cores that the process may use
};

/// Says how far a run has come.
struct TrainingStep {
  int64_t step = 0;
  int64_t steps = 0;  ///< steps of the whole run
  double epoch = 0;
  double loss = 0;
  double learning_rate = 0;
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

/// Numbers with Trainer's names ("loss", "grad_norm", "eval_accuracy"), as of one step.
struct TrainingLog {
  int64_t step = 0;
  double epoch = 0;
  std::vector<std::pair<std::string, double>> values;
};

/// Hears of a run. All calls come from the thread that called train_model(). What a function throws
/// ends the run, and reaches the caller.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void on_step(const TrainingStep& /*step*/) {}
  virtual void on_log(const TrainingLog& /*log*/) {}
  virtual void on_evaluation(const TrainingLog& /*scores*/) {}
  /// A checkpoint is complete. Steps go on while it is written: this may come some steps later.
  virtual void on_checkpoint(const std::string& /*folder*/) {}
  virtual void on_message(const std::string& /*line*/) {}  ///< what a user wants to know once
  virtual void on_warning(const std::string& /*line*/) {}  ///< what may not be meant so
  /// Is asked after each step. Where it gives true, a checkpoint is written and the run ends.
  virtual bool stop_requested() { return false; }
};

/// The results of a run.
struct TrainingSummary {
  std::string output_dir;
  int64_t steps = 0;
  double epochs = 0;
  int64_t samples = 0;
  int64_t tokens = 0;
  double train_loss = 0;  ///< mean over the steps
  double train_seconds = 0;
  std::vector<std::pair<std::string, double>> metrics;  ///< "eval_loss", "eval_accuracy", ...
  std::optional<double> best_metric;
  int64_t best_step = 0;
  std::string last_checkpoint;  ///< empty where none was written
  bool interrupted = false;     ///< whether the observer ended the run
  bool stopped_early = false;   ///< whether patience ended it
  int64_t parameters = 0;
  int64_t trainable_parameters = 0;
  uint64_t memory_bytes = 0;  ///< weights, gradients, optimiser and activations
};

/// Trains and evaluates a model, and writes its folder. Own mistakes are errors that name the
/// option; `observer` may be null.
TrainingSummary train_model(const TrainingOptions& options, TrainingObserver* observer = nullptr);

}  // namespace hone

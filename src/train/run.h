#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "train/log_entry.h"
#include "train/options.h"
#include "train/stages.h"

namespace hone::train {

/// Says how far a run has come.
struct Progress {
  int64_t step = 0;
  int64_t steps = 0;
  double epoch = 0;
  double loss = 0;  ///< loss of the last step
  double learning_rate = 0;
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double share_of_peak = 0;  ///< FLOP/s against what the device's units can do; 0: not known
  double seconds_left = 0;
};

/// An observer hears of a run. Calls come from the run's own thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void say(const std::string& line) = 0;   ///< what a user wants to know once
  virtual void warn(const std::string& line) = 0;  ///< what may not be meant so
  virtual void progress(const Progress& progress) = 0;
  virtual void logged(const LogEntry& entry) = 0;
  virtual void saved(const std::string& /*folder*/) {}  ///< a checkpoint is complete
  /// Is asked after each step: where it gives true, the run ends behind a checkpoint.
  virtual bool stop_requested() = 0;
  /// Is asked after each step: where it gives true, training is done, and the model is evaluated
  /// and written as if no step was left.
  virtual bool end_requested() { return false; }
};

struct MemoryUse {
  uint64_t weights = 0;
  uint64_t gradients = 0;
  uint64_t optimizer = 0;
  uint64_t activations = 0;  ///< includes the workspace
  uint64_t total() const { return weights + gradients + optimizer + activations; }
};

/// The costs of training every weight, beside training adapters.
struct FullFineTuning {
  MemoryUse memory;
  double flops_share = 1;  ///< arithmetic that adapters take, as a share of full training's
};

/// The results of a run.
struct Summary {
  std::string output;
  int64_t steps = 0;
  double epochs = 0;
  int64_t samples = 0;
  int64_t tokens = 0;
  double train_loss = 0;                 ///< mean over the steps
  double train_seconds = 0;              ///< seconds of the loop, with evaluations and checkpoints
  double waiting_share = 0;              ///< share of the loop's time spent on waiting for batches
  std::optional<double> gpu_idle_share;  ///< share of the loop less evaluations and checkpoints
  int64_t parameters = 0;
  int64_t trainable = 0;
  std::vector<std::pair<std::string, double>> evaluation;  ///< final results, "eval_" in front
  std::string best_metric;  ///< name of the metric; empty where none was asked
  std::optional<double> best;
  int64_t best_step = 0;
  std::string last_checkpoint;               ///< empty where none was written
  double checkpoint_background_seconds = 0;  ///< seconds of writing checkpoints while steps went on
  uint64_t checkpoint_copy_bytes = 0;        ///< memory that checkpoints are copied into
  bool interrupted = false;
  bool stopped_early = false;
  StageTimes stages;
  MemoryUse memory;
  std::optional<FullFineTuning> full;  ///< present for a run with adapters
  int ranks = 1;
  comm::Times communication;         ///< seconds of collectives, this rank's
  uint64_t communication_bytes = 0;  ///< bytes of gradients that this rank has sent
  uint64_t peak_bytes = 0;
};

/// Trains, evaluates and predicts as the options say, as one of the ranks, which all have the same
/// options. The first of them writes, and it alone is heard by its observer; all end when it has
/// written. An error on one rank is an error on all.
Summary run(const Options& options, Observer& observer, comm::Communicator& ranks);
/// Does the same as one process by itself.
Summary run(const Options& options, Observer& observer);

}  // namespace hone::train

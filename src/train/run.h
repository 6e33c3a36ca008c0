#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/log_entry.h"
#include "train/options.h"
#include "train/stages.h"

namespace hone::train {

/// How far a run has come.
struct Progress {
  int64_t step = 0;
  int64_t steps = 0;
  double epoch = 0;
  double loss = 0;  ///< of the last step
  double learning_rate = 0;
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double share_of_peak = 0;  ///< FLOP/s against what the device's units can do; 0: not known
  double seconds_left = 0;
};

/// Who hears of a run. Calls come from the run's own thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void say(const std::string& line) = 0;   ///< what a user wants to know once
  virtual void warn(const std::string& line) = 0;  ///< what may not be meant so
  virtual void progress(const Progress& progress) = 0;
  virtual void logged(const LogEntry& entry) = 0;
  /// Asked after each step: true ends the run behind a checkpoint.
  virtual bool stop_requested() = 0;
};

struct MemoryUse {
  uint64_t weights = 0;
  uint64_t gradients = 0;
  uint64_t optimizer = 0;
  uint64_t activations = 0;  ///< and workspace
  uint64_t total() const { return weights + gradients + optimizer + activations; }
};

/// What training every weight would take, beside training adapters.
struct FullFineTuning {
  MemoryUse memory;
  double flops_share = 1;  ///< of its arithmetic, that adapters take
};

/// What came of a run.
struct Summary {
  std::string output;
  int64_t steps = 0;
  double epochs = 0;
  int64_t samples = 0;
  int64_t tokens = 0;
  double train_loss = 0;                 ///< mean over the steps
  double train_seconds = 0;              ///< of the loop, with evaluations and checkpoints
  double waiting_share = 0;              ///< of the loop's time, spent on waiting for batches
  std::optional<double> gpu_idle_share;  ///< of the loop's time without evaluations and checkpoints
  int64_t parameters = 0;
  int64_t trainable = 0;
  std::vector<std::pair<std::string, double>> evaluation;  ///< final, "eval_" in front
  std::string best_metric;                                 ///< its name; empty where none was asked
  std::optional<double> best;
  int64_t best_step = 0;
  std::string last_checkpoint;  ///< empty where none was written
  bool interrupted = false;
  bool stopped_early = false;
  StageTimes stages;
  MemoryUse memory;
  std::optional<FullFineTuning> full;  ///< of a run with adapters
  uint64_t peak_bytes = 0;
};

/// Trains, evaluates and predicts as the options say.
Summary run(const Options& options, Observer& observer);

}  // namespace hone::train

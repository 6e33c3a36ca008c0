#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/datasets.h"
#include "train/evaluator.h"
#include "train/event_file.h"
#include "train/json_log.h"
#include "train/run.h"
#include "train/stepper.h"

namespace hone::train {

/// The steps of a run: how many there are, and the learning rate of each.
struct Course {
  int64_t steps = 0;
  int64_t epochs = 0;  ///< begun ones
  optim::Schedule schedule;
  int64_t logging_steps = 1;
};

Course plan_course(const Options& options, const data::Sampler& sampler);

/// Scores all evaluation sets; the names begin with "eval_".
LogEntry evaluate_sets(Evaluator& evaluator, const Corpus& corpus, const Datasets& data,
                       StageTimes& stages);

/// Steps, logs, evaluations and checkpoints of one run over an opened model and its data.
class Loop {
 public:
  struct Parts {
    const Options& options;
    const Corpus& corpus;
    const Datasets& data;
    const data::Sampler& sampler;
    Trainee& model;
    ThreadPool& pool;
    Observer& observer;
    Summary& summary;
  };

  /// The weights are loaded. All parts must outlive this.
  Loop(const Parts& parts, const Course& course, const ops::LossOptions& loss,
       Fingerprint fingerprint);

  /// On a GPU: takes the memory of evaluations and of the largest batch, before anything has
  /// changed.
  void reserve(const Extents& largest);
  /// Takes up a run at a verified checkpoint.
  void resume(const std::string& folder);
  /// Runs to the end, to a request to stop, or until nothing improves. A fault of the device is an
  /// error that names the step and the last checkpoint.
  void train();
  /// The weights of the best checkpoint, where they are asked for and there is one.
  void load_best();
  /// Of the weights as they are now; those that were evaluated already are not again.
  LogEntry evaluate();

 private:
  /// What has been done since train() began.
  struct Rates {
    Stopwatch watch;
    double aside = 0;  ///< seconds of evaluation and checkpoints before
    double flops = 0;
    int64_t samples = 0;
    int64_t tokens = 0;
    int64_t steps = 0;
  };

  /// A step of the optimiser that was started. A GPU works on several while the host goes on.
  struct Started {
    std::vector<data::PackedBatch> group;  ///< its batches
    int64_t size = 0;                      ///< how many there are of them
    StepState state;
    double rate = 0;
    std::vector<Stepper::Ticket> losses;
    optim::Optimizer::Ticket update;

    const data::PackedBatch& last() const { return group[static_cast<size_t>(size - 1)]; }
  };

  bool load_group(Started& step);
  void run_group(Started& step);
  void fill_batch(const data::PackedBatch& packed);
  bool scaled() const;
  double scale() const;
  void start_step(Started step);
  /// Of the device, or for want of memory.
  static bool is_fault(const Error& error);
  /// A fault of the device, with the steps that were on their way and what is left of the run.
  [[noreturn]] void faulted(const Error& error) const;
  /// Looks at the oldest started step, or at all of them.
  void settle();
  void settle_all();
  /// How many steps may be started and not looked at after this one.
  size_t ahead(const Started& step) const;
  int64_t next_step() const { return state_.step + static_cast<int64_t>(started_.size()); }
  std::string where_not_finite(const Started& step);
  void finish_step(const Started& step, double loss, const optim::StepReport& report);
  void log_training(const optim::StepReport& report, double rate);
  void record(const LogEntry& entry);
  void evaluate_and_compare();
  void save();
  bool due(const Interval& interval) const { return due(interval, state_.step, epoch_ended_); }
  static bool due(const Interval& interval, int64_t step, bool epoch_ended);
  bool out_of_patience() const;
  void show_progress(double rate);
  /// The stages that are known when the steps are done.
  void account();
  double epoch() const;
  void run_steps();
  /// Of the checkpoint that a run which fails leaves.
  std::string what_is_left() const;
  [[noreturn]] void diverged(const Started& step, const std::string& what);

  Parts parts_;
  Course course_;
  ops::LossOptions loss_;
  Fingerprint fingerprint_;
  optim::Optimizer optimizer_;
  Stepper stepper_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<data::Loader> loader_;
  std::optional<JsonLog> json_log_;
  std::optional<EventFile> event_file_;
  RunState state_;
  std::optional<LogEntry> evaluated_;  ///< of the weights as they are now
  std::deque<Started> started_;
  bool starting_ = false;  ///< one more, that is not among them yet
  bool between_ = false;   ///< a step has ended: it is logged, evaluated, saved
  models::Batch batch_;
  Labels labels_;
  bool epoch_ended_ = false;
  double peak_flops_ = 0;
  Rates rates_;
};

}  // namespace hone::train

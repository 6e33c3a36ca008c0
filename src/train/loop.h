#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "comm/communicator.h"
#include "profile/usage.h"
#include "train/balancer.h"
#include "train/checkpoint_writer.h"
#include "train/datasets.h"
#include "train/evaluator.h"
#include "train/event_file.h"
#include "train/json_log.h"
#include "train/run.h"
#include "train/slices.h"
#include "train/stepper.h"
#include "train/strategy.h"

namespace hone::train {

/// The steps of a run: how many there are, and the learning rate of each.
struct StepSchedule {
  int64_t steps = 0;
  int64_t epochs = 0;  ///< epochs that are begun
  optim::Schedule learning_rate;
  int64_t logging_steps = 1;
};

StepSchedule plan_steps(const Options& options, const data::Sampler& sampler);

/// Scores all evaluation sets, each rank a part; the names begin with "eval_".
LogEntry evaluate_sets(Evaluator& evaluator, const Corpus& corpus, const Datasets& data,
                       comm::Communicator& ranks, StageTimes& stages);

/// Steps, logs, evaluations and checkpoints of one run over an opened model and its data. Every
/// rank goes through the same steps; the first one writes.
class Loop {
 public:
  struct Parts {
    const Options& options;
    const Corpus& corpus;
    const Datasets& data;
    const data::Sampler& sampler;
    TrainedModel& model;
    comm::Communicator& ranks;
    ThreadPool& pool;
    Observer& observer;
    Summary& summary;
    ConceptKeeper* concepts = nullptr;  ///< null unless the model explains itself
  };

  /// The weights are loaded. All parts must outlive this.
  Loop(const Parts& parts, const StepSchedule& schedule, const ops::LossOptions& loss,
       Fingerprint fingerprint);

  /// Takes a GPU's memory for evaluations and for the largest batch, before anything has changed.
  void reserve(const Extents& largest);
  /// Takes up a run at a verified checkpoint.
  void resume(const std::string& folder);
  /// Runs to the end, to a request to stop, or until nothing improves. A fault of the device is an
  /// error that names the step and the last checkpoint.
  void train();
  /// Loads the weights of the best checkpoint, where they are asked for and there is one.
  void load_best();
  /// Encodes a self-explaining model's concepts with the weights as they are now.
  void renew_concepts();
  /// Makes the moving average, where one is kept, the model's weights; training is over then.
  void take_average();
  /// Gives the checkpoint that this run wrote of the weights as they are now; empty: none.
  std::string checkpoint_of_weights() const;
  /// Evaluates the weights as they are now; those that were evaluated already are not evaluated
  /// again.
  LogEntry evaluate();

 private:
  /// The counts since train() began.
  struct Rates {
    Stopwatch watch;
    double excluded_seconds = 0;  ///< evaluation and checkpoints before train() began
    double flops = 0;
    int64_t samples = 0;
    int64_t tokens = 0;
    int64_t steps = 0;
  };

  /// A step of the optimiser that was started. A GPU works on several while the host goes on.
  struct Started {
    std::vector<SliceBatches> group;  ///< its batches, by slice of this process
    size_t size = 0;                  ///< batches of each slice in `group`
    StepState state;
    double rate = 0;
    std::vector<Stepper::Ticket> losses;
    optim::Optimizer::Ticket update;

    /// Gives the last batch of one slice: all slices' lie at the same place in the data.
    const data::Batch& last() const { return group.front()[size - 1]; }
  };

  /// A rank's part of a step, as all ranks hear of it.
  struct News {
    RankWork work;
    bool stop = false;  ///< whether the rank was asked to stop
    bool end = false;   ///< whether its observer says that training is done
  };

  bool load_group(Started& step);
  /// Has a self-explaining model's concepts encoded for the epoch that begins.
  void begin_epoch();
  /// Gives what the sum of a step's losses is divided by.
  double weight_of(const Started& step) const;
  /// Says whether there are neither other ranks nor other slices.
  bool alone() const { return slices_.total == 1; }
  /// Says whether this rank writes checkpoints, logs and results.
  bool writes() const { return parts_.ranks.rank() == 0; }
  double loss_of(const Stepper::Ticket& ticket) const;
  /// Tells the other ranks of a step, hears of theirs, and gives the loss of all of it.
  double tell(const Started& step);
  void balance();
  bool stop_requested();
  bool end_requested();
  /// Has all ranks know the last checkpoint, behind the end of writing it.
  void agree_on_checkpoint();
  void run_group(Started& step);
  bool scaled() const;
  double scale() const;
  void start_step(Started step);
  /// Says whether an error is a fault of the device or a lack of memory.
  static bool is_fault(const Error& error);
  /// Throws a fault of the device, with the steps that were on their way and what is left of the
  /// run.
  [[noreturn]] void faulted(const Error& error);
  /// Looks at the oldest started step, or at all of them.
  void settle();
  void settle_all();
  /// Says how many steps may be started and not looked at after this one.
  size_t ahead(const Started& step) const;
  int64_t next_step() const { return state_.step + static_cast<int64_t>(started_.size()); }
  std::string where_not_finite(const Started& step);
  /// Runs a step's batches again, one by one.
  std::string search_not_finite(const Started& step);
  void finish_step(const Started& step, double loss, const optim::StepReport& report);
  void log_training(const optim::StepReport& report, double rate);
  void record(const LogEntry& entry);
  /// Adds what process and device take at this moment. It is logged and not kept in the history,
  /// which is the same for equal runs.
  LogEntry with_usage(LogEntry entry);
  void evaluate_and_compare();
  /// Begins a checkpoint; see CheckpointWriter::save().
  void save(bool steps_follow);
  /// Runs work of a stage that writes to the disk. Its errors name the last good checkpoint.
  void write_files(Stage stage, FunctionRef<void()> work);
  bool due(const Interval& interval) const { return due(interval, state_.step, epoch_ended_); }
  static bool due(const Interval& interval, int64_t step, bool epoch_ended);
  bool out_of_patience() const;
  void show_progress(double rate);
  /// Accounts for the stages that are known when the steps are done.
  void account();
  /// Hands a profile, where one is taken, the numbers of the run.
  void tell_profile();
  double epoch() const;
  void run_steps();
  Training training() {
    return {parts_.model, *optimizer_, state_, average_ ? &*average_ : nullptr, parts_.concepts};
  }
  /// Says which checkpoint a run that fails leaves; waits for the one on its way.
  std::string what_is_left();
  [[noreturn]] void diverged(const Started& step, const std::string& what);

  Parts parts_;
  StepSchedule step_schedule_;
  ops::LossOptions loss_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<WeightAverage> average_;
  Backend& backend_;
  Stepper stepper_;
  Slices slices_;
  std::unique_ptr<Strategy> strategy_;
  ShareSchedule shares_;
  std::optional<Balancer> balancer_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<SliceLoader> loader_;
  std::optional<JsonLog> json_log_;
  std::optional<EventFile> event_file_;
  RunState state_;
  std::string loaded_best_;            ///< checkpoint that load_best() took the weights of
  std::optional<LogEntry> evaluated_;  ///< results of the weights as they are now
  std::deque<Started> started_;
  bool starting_ = false;  ///< whether a step is being started that is not in started_ yet
  bool between_ = false;   ///< whether a step has ended: it is logged, evaluated, saved
  bool epoch_ended_ = false;
  std::vector<News> news_;  ///< by rank, of the last step
  Stopwatch step_watch_;
  double exposed_before_ = 0;  ///< seconds of waiting for other ranks before the step
  double peak_flops_ = 0;
  profile::UsageReader usage_{profile::WatchedGpu::own};
  Rates rates_;
  CheckpointWriter writer_;  ///< the last member: its thread ends before anything else goes
};

}  // namespace hone::train

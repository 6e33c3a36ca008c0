#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

  /// Takes up a run at a verified checkpoint.
  void resume(const std::string& folder);
  /// Runs to the end, to a request to stop, or until nothing improves.
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

  bool load_group();
  double run_group();
  bool scaled() const;
  double scale() const;
  void step();
  void finish_step(double loss, const optim::StepReport& report, double rate);
  void log_training(const optim::StepReport& report, double rate);
  void record(const LogEntry& entry);
  void evaluate_and_compare();
  void save();
  bool due(const Interval& interval) const;
  bool out_of_patience() const;
  void show_progress(double rate);
  double epoch() const;
  [[noreturn]] void diverged(const std::string& what);

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
  std::optional<LogEntry> evaluated_;     ///< of the weights as they are now
  std::vector<data::PackedBatch> group_;  ///< batches of one optimiser step
  int64_t group_size_ = 0;
  models::Batch batch_;
  Labels labels_;
  bool epoch_ended_ = false;
  double peak_flops_ = 0;
  Rates rates_;
};

}  // namespace hone::train

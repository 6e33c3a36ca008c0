#include "hone/train.h"

#include "api/option_names.h"
#include "api/training_options.h"
#include "train/exit_stages.h"
#include "train/run.h"

namespace hone {
namespace {

/// Tells a public observer what a run tells its own.
class ToldObserver : public train::Observer {
 public:
  explicit ToldObserver(TrainingObserver& told) : told_(told) {}

  void say(const std::string& line) override { told_.on_message(line); }
  void warn(const std::string& line) override { told_.on_warning(line); }
  void progress(const train::Progress& at) override {
    TrainingStep step;
    step.step = at.step;
    step.steps = at.steps;
    step.epoch = at.epoch;
    step.loss = at.loss;
    step.learning_rate = at.learning_rate;
    step.samples_per_second = at.samples_per_second;
    step.tokens_per_second = at.tokens_per_second;
    step.seconds_left = at.seconds_left;
    told_.on_step(step);
  }
  void logged(const train::LogEntry& entry) override {
    const TrainingLog log{entry.step, entry.epoch, entry.values};
    const bool scores = !log.values.empty() && log.values.front().first.starts_with("eval_");
    scores ? told_.on_evaluation(log) : told_.on_log(log);
  }
  void saved(const std::string& folder) override { told_.on_checkpoint(folder); }
  bool stop_requested() override { return told_.stop_requested(); }

 private:
  TrainingObserver& told_;
};

TrainingSummary summary_of(train::Summary run) {
  TrainingSummary summary;
  summary.output_dir = std::move(run.output);
  summary.steps = run.steps;
  summary.epochs = run.epochs;
  summary.samples = run.samples;
  summary.tokens = run.tokens;
  summary.train_loss = run.train_loss;
  summary.train_seconds = run.train_seconds;
  summary.metrics = std::move(run.evaluation);
  summary.best_metric = run.best;
  summary.best_step = run.best_step;
  summary.last_checkpoint = std::move(run.last_checkpoint);
  summary.interrupted = run.interrupted;
  summary.stopped_early = run.stopped_early;
  summary.parameters = run.parameters;
  summary.trainable_parameters = run.trainable;
  summary.memory_bytes = run.memory.total();
  return summary;
}

}  // namespace

TrainingSummary train_model(const TrainingOptions& options, TrainingObserver* observer) {
  return api::with_option_names(api::option_of, [&] {
    TrainingObserver silent;
    ToldObserver told(observer ? *observer : silent);
    train::Summary last;
    for (const train::Options& stage : train::exit_stages(api::run_options(options))) {
      last = train::run(stage, told);
      if (last.interrupted) break;
    }
    return summary_of(std::move(last));
  });
}

}  // namespace hone

// What a checkpoint keeps besides weights: a run that did not take it up would end differently.
#include <gtest/gtest.h>

#include "train/checkpoint.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

class ResumeState : public RunTest {
 protected:
  /// Runs straight and in two parts, the first `stop` steps long; gives both summaries. All that
  /// trainer_state.json has of the two must be alike.
  struct Pair {
    Summary straight;
    Summary resumed;
    Listener heard;    ///< hears the straight run
    Listener resumer;  ///< hears the second part
  };
  Pair run_both(Options made, int64_t stop) {
    Pair pair;
    made.output = folder("straight");
    pair.straight = run(made, pair.heard);
    made.output = folder("parts");
    Listener first(stop);
    EXPECT_TRUE(run(made, first).interrupted);
    at_stop_ = lasting_state(checkpoint_path(made.output, stop));
    made.resume = "last";
    pair.resumed = run(made, pair.resumer);
    EXPECT_EQ(lasting_state(folder("parts")), lasting_state(folder("straight")));
    EXPECT_EQ(weights(folder("parts")), weights(folder("straight")));
    return pair;
  }

  /// Evaluated and saved every other step. It learns that nearly all is good and is asked where
  /// nearly all is bad: the more it learns, the worse it is.
  Options worsening() const {
    std::string learnt = "text,label\n", scored = learnt;
    for (int i = 0; i < 64; ++i) {
      learnt += i % 16 == 0 ? "a film,bad\n" : "a film,good\n";
      scored += i % 16 == 0 ? "a film,good\n" : "a film,bad\n";
    }
    Options made = options("run");
    made.data.train_file = write("learnt.csv", learnt);
    made.data.validation_file = write("scored.csv", scored);
    made.saving = made.evaluation = {Interval::Kind::steps, 2};
    made.stopping.metric = "loss";
    return made;
  }

  Json at_stop_;
};

/// The loss is so large that gradients overflow until its scale was halved a few times. A run that
/// began with the first scale again would skip steps.
TEST_F(ResumeState, KeepsTheLossScaleAndItsGoodSteps) {
  Options made = options("run");
  made.step.dtype = DType::f16;
  std::string rows = "text,label\n";
  for (int i = 0; i < 64; ++i) rows += "a film of the year " + std::to_string(i) + ",50.5\n";
  made.data.train_file = made.data.validation_file = write("scores.csv", rows);
  const Pair pair = run_both(made, 9);
  const size_t skipped = pair.heard.warnings.size();
  ASSERT_GE(skipped, 2u);
  ASSERT_LE(skipped, 7u);
  EXPECT_EQ(at_stop_.at("loss_scale"), 65536. / double(1 << skipped));
  EXPECT_EQ(at_stop_.at("loss_scale_good_steps"), 9 - skipped);
  EXPECT_EQ(pair.resumer.warnings, std::vector<std::string>());
  EXPECT_EQ(lasting_state(folder("parts")).at("loss_scale_good_steps"), 12 - skipped);
}

/// The best model is one of before the stop.
TEST_F(ResumeState, KeepsTheBestMetricAndItsStep) {
  Options made = worsening();
  made.stopping.load_best = true;
  const Pair pair = run_both(made, 7);
  ASSERT_EQ(pair.straight.best_step, 2);
  EXPECT_EQ(at_stop_.at("best_global_step"), 2);
  EXPECT_EQ(pair.resumed.best, pair.straight.best);
  EXPECT_EQ(pair.resumed.best_step, pair.straight.best_step);
  EXPECT_EQ(weights(folder("parts")), weights(checkpoint_path(folder("parts"), 2)));
}

/// Patience ends behind the stop, counted from before it.
TEST_F(ResumeState, KeepsTheEvaluationsWithoutGain) {
  Options made = worsening();
  made.stopping.patience = 3;
  const Pair pair = run_both(made, 7);
  ASSERT_TRUE(pair.straight.stopped_early);
  ASSERT_EQ(pair.straight.steps, 8);
  EXPECT_EQ(at_stop_.at("evaluations_without_gain"), 2);
  EXPECT_TRUE(pair.resumed.stopped_early);
  EXPECT_EQ(pair.resumed.steps, 8);
}

/// A request to stop that comes between two batches of a step is honoured behind its last batch:
/// the checkpoint stands at a whole number of steps, in the middle of an epoch.
TEST_F(ResumeState, StopsBetweenStepsNotBetweenTheirBatches) {
  Options made = options("run");
  made.batch.train = 2;
  made.batch.accumulation = 5;  // 32 batches an epoch: steps of 5, and one of 2
  made.logging_steps = 4;       // losses since the last entry are on their way, too
  const Pair pair = run_both(made, 3);
  EXPECT_EQ(at_stop_.at("global_step"), 3);
  EXPECT_EQ(at_stop_.at("epoch_index"), 0);
  EXPECT_EQ(at_stop_.at("epoch_samples"), 3 * 5 * 2);
  EXPECT_EQ(at_stop_.at("samples_seen"), 3 * 5 * 2);
  EXPECT_GT(at_stop_.at("loss_since_log"), 0);
  std::vector<double> rest(pair.heard.losses.begin() + 3, pair.heard.losses.end());
  EXPECT_EQ(pair.resumer.losses, rest);
}

}  // namespace
}  // namespace hone::train

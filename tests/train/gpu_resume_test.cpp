// A run on a GPU that was stopped in the middle of an epoch and taken up again is the run that was
// not, bit for bit.
#include "device/cuda.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

struct GpuRunCase {
  const char* name;
  std::function<void(Options&)> change;
};

class GpuResume : public RunTest, public testing::WithParamInterface<GpuRunCase> {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  }
};

TEST_P(GpuResume, EqualsTheStraightRunBitForBit) {
  Options straight = options("straight");
  straight.device = "cuda";
  GetParam().change(straight);
  Listener whole;
  const Summary wanted = run(straight, whole);
  ASSERT_EQ(wanted.steps, 12);

  // Steps that a GPU has not been asked about yet are settled where a checkpoint is due, so that
  // the run ends behind the third of its epoch's eight.
  Options halves = straight;
  halves.output = folder("halves");
  halves.saving = {Interval::Kind::steps, 3};
  Listener first(3);
  const Summary stopped = run(halves, first);
  EXPECT_TRUE(stopped.interrupted);
  ASSERT_EQ(stopped.steps, 3);
  ASSERT_LT(stopped.epochs, 1);

  halves.resume = "last";
  Listener second;
  const Summary resumed = run(halves, second);
  EXPECT_EQ(resumed.steps, wanted.steps);
  std::vector<double> losses = first.losses;
  losses.insert(losses.end(), second.losses.begin(), second.losses.end());
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(resumed.train_loss, wanted.train_loss);
  EXPECT_EQ(weights(halves.output), weights(straight.output));
  EXPECT_EQ(resumed.evaluation.front(), wanted.evaluation.front());
}

INSTANTIATE_TEST_SUITE_P(
    Runs, GpuResume,
    testing::Values(
        GpuRunCase{"plain", [](Options&) {}},
        GpuRunCase{"accumulation",
                   [](Options& o) {
                     o.batch.train = 4;
                     o.batch.accumulation = 2;
                   }},
        GpuRunCase{"lengths", [](Options& o) { o.batch.group_by_length = true; }},
        GpuRunCase{"sgd",
                   [](Options& o) {
                     o.optimizer.kind = optim::OptimizerKind::sgd;
                     o.optimizer.momentum = 0.9;
                   }},
        GpuRunCase{"adamw_8bit",
                   [](Options& o) { o.optimizer.kind = optim::OptimizerKind::adamw_8bit; }},
        GpuRunCase{"bf16", [](Options& o) { o.step.dtype = DType::bf16; }},
        GpuRunCase{"fp16", [](Options& o) { o.step.dtype = DType::f16; }},
        GpuRunCase{"lora",
                   [](Options& o) {
                     o.model.model = HONE_TEST_DIR "/../models/goldens/bert-words";
                     o.model.lora = nn::LoraOptions{.rank = 3, .dropout = 0.1};
                   }},
        GpuRunCase{"exits", [](Options& o) { o.model.exits = models::ExitMethod::pabee; }},
        GpuRunCase{"segments", [](Options& o) { o.step.checkpoint_segments = 2; }}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace hone::train

// What steps declare: who reads it, and who checks it.
#include <algorithm>

#include "base/error.h"
#include "plan/small_plan.h"

namespace hone {
namespace {

const Weight kMatrix{0, DType::f32, 5, 7};
const Weight kHalf{1, DType::bf16, 5, 7};
const Weight kTable{2, DType::f32, 100, 6};
const Weight kOtherTable{3, DType::bf16, 50, 4};
const Weight kStatistics{4, DType::f32, 1, 8};

Step idle(const char* name = "idle") {
  return {name, {}, {}, [](const Frame&) {}};
}

double moved(const Plan& plan, const Step& step) { return plan.bytes_moved(step, extents_of(10)); }

TEST(BytesMoved, CountsValuesInWhatTheyAreHeldIn) {
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    Plan plan;
    plan.set_device(device);
    Step step = idle();
    step.reads = {plan.input(DType::f32, kRows, 3)};
    EXPECT_EQ(moved(plan, step), 10 * 3 * 4);
    step.writes = {plan.temporary(DType::bf16, kRows, 4)};
    EXPECT_EQ(moved(plan, step), 120 + 10 * 4 * 2);
    step.writes = {plan.temporary(DType::f16, kRows, 4)};  // fp16 lies in fp32 on a processor
    EXPECT_EQ(moved(plan, step), 120 + 10 * 4 * (device == DeviceKind::cpu ? 4 : 2));
    step.writes = {plan.temporary([](const Extents& e) { return size_t(e[kRows] * 11); })};
    EXPECT_EQ(moved(plan, step), 120 + 110);
    step.reads.push_back(plan.constant({1, 2, 3}));
    EXPECT_EQ(moved(plan, step), 120 + 110 + 12);
  }
}

TEST(BytesMoved, CountsWeightsWholeAndTablesByRow) {
  Plan plan;
  const Value indices = plan.input(DType::i32, kRows, 1);
  const Value places = plan.input(DType::i32, Axis::one, 1);
  Step step = idle();
  step.weights = {kMatrix, kHalf};
  EXPECT_EQ(moved(plan, step), 5 * 7 * 4 + 5 * 7 * 2);
  step.tables = {{kTable, indices}, {kOtherTable, places}};
  EXPECT_EQ(moved(plan, step), 210 + 10 * 6 * 4 + 1 * 4 * 2);
  step.reads = {indices};
  EXPECT_EQ(moved(plan, step), 210 + 248 + 40);
  step.state = {kStatistics};
  EXPECT_EQ(moved(plan, step), 210 + 248 + 40 + 2 * 8 * 4);
}

TEST(BytesMoved, CountsGradientsThatAreAddedToTwice) {
  Plan plan;
  const Value indices = plan.input(DType::i32, kRows, 1);
  Step step = idle();
  step.gradients = {kHalf};  // in fp32, whatever the weight is read in
  EXPECT_EQ(moved(plan, step), 2 * 5 * 7 * 4);
  step.sets = {kHalf};
  EXPECT_EQ(moved(plan, step), 5 * 7 * 4);
  step.gradients.push_back(kTable);
  step.touches = {{kTable, indices}};
  EXPECT_EQ(moved(plan, step), 140 + 2 * 10 * 6 * 4);
  step.sets.push_back(kTable);
  EXPECT_EQ(moved(plan, step), 140 + 10 * 6 * 4);
  Weight lower = kMatrix;  // some rows of a slot, beside others that are set
  lower.rows = 2;
  Weight upper = kMatrix;
  upper.rows = 3;
  upper.offset = 14;
  step = idle();
  step.gradients = {lower, upper};
  step.sets = {upper};
  EXPECT_EQ(moved(plan, step), 2 * 2 * 7 * 4 + 3 * 7 * 4);
}

TEST(GradientsFinalAfter, NamesTheLastStepThatGivesEach) {
  Plan plan;
  EXPECT_TRUE(plan.gradients_final_after().empty());
  const auto give = [&](std::vector<Weight> gradients, std::vector<Weight> sets = {}) {
    Step step = idle();
    step.gradients = std::move(gradients);
    step.sets = std::move(sets);
    plan.add(std::move(step));
  };
  give({});
  give({kTable, kMatrix}, {kMatrix});
  give({kMatrix});
  give({});
  give({kOtherTable});
  give({kMatrix});
  give({});
  EXPECT_EQ(plan.gradients_final_after(), (std::vector<size_t>{6, 0, 2, 5}));
}

TEST(GradientsFinalAfter, CountsStepsAsPruningLeavesThem) {
  Plan plan;
  const Value x = plan.input(DType::f32, kRows, 1);
  add(plan, x, 1);  // nobody reads it
  Step step = idle();
  step.gradients = {kMatrix};
  plan.add(std::move(step));
  EXPECT_EQ(plan.gradients_final_after(), (std::vector<size_t>{2}));
  plan.prune();
  EXPECT_EQ(plan.gradients_final_after(), (std::vector<size_t>{1}));
}

/// Runners that are made while it lives are audited.
struct Audited {
  Audited() { Runner::audit_all(true); }
  ~Audited() { Runner::audit_all(false); }
};

/// A step over values, weights, gradients and state, of which it may declare less than it touches.
class Audit : public testing::Test {
 protected:
  Audit() {
    step_ = {"greedy", {x_}, {y_}, [this](const Frame& frame) {
               *frame.data<float>(y_) = *frame.data<const float>(x_);
               *frame.data<float>(y_) += *frame.weight<float>(kMatrix);
               *frame.data<float>(y_) += *frame.weight<float>(kTable);
               *frame.state(kStatistics) += 1;
               *static_cast<float*>(frame.gradient(kMatrix)) += 1;
             }};
    step_.weights = {kMatrix};
    step_.tables = {{kTable, x_}};
    step_.state = {kStatistics};
    step_.gradients = {kMatrix};
  }

  std::string outcome() {
    Plan plan = plan_;
    plan.set_scope("layer 3");
    plan.add(step_);
    ThreadPool pool(1);
    const std::vector<const void*> weights(5, numbers_.data());
    std::vector<float> sums(35);
    const std::vector<void*> gradients(5, sums.data());
    Runner runner(plan, weights, pool, {.gradients = {gradients}});
    runner.resize(extents_of(1));
    const float input = 4;
    runner.bind(x_, &input);
    runner.bind(hidden_, &input);
    try {
      runner.run();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::internal);
      return error.what();
    }
    return "fine";
  }

  Plan plan_;
  Value x_ = plan_.input(DType::f32, kRows, 1);
  Value hidden_ = plan_.input(DType::f32, kRows, 1);
  Value y_ = plan_.temporary(DType::f32, kRows, 1);
  Step step_;
  std::vector<float> numbers_ = std::vector<float>(600, 1.f);
};

TEST_F(Audit, HonestStepsRun) {
  const Audited audited;
  EXPECT_EQ(outcome(), "fine");
}

TEST_F(Audit, TellsOfAValue) {
  step_.run = [this](const Frame& frame) { *frame.data<float>(y_) = *frame.data<float>(hidden_); };
  EXPECT_EQ(outcome(), "fine");  // nobody looks
  const Audited audited;
  EXPECT_EQ(outcome(), "layer 3: greedy: touches value 1, which it does not declare");
  step_.reads.push_back(hidden_);
  EXPECT_EQ(outcome(), "fine");
}

TEST_F(Audit, TellsOfAWeight) {
  const Audited audited;
  step_.weights = {kHalf};
  EXPECT_EQ(outcome(), "layer 3: greedy: touches weight 0, which it does not declare");
}

TEST_F(Audit, TellsOfATable) {
  const Audited audited;
  step_.tables = {};
  EXPECT_EQ(outcome(), "layer 3: greedy: touches weight 2, which it does not declare");
}

TEST_F(Audit, TellsOfState) {
  const Audited audited;
  step_.state = {};
  step_.weights.push_back(kStatistics);  // it may only read these then
  EXPECT_EQ(outcome(), "layer 3: greedy: touches state 4, which it does not declare");
}

TEST_F(Audit, TellsOfAGradient) {
  const Audited audited;
  step_.gradients = {kTable};
  step_.sets = {kMatrix};  // says how, not that
  EXPECT_EQ(outcome(), "layer 3: greedy: touches gradient 0, which it does not declare");
}

}  // namespace
}  // namespace hone

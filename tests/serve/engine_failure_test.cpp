// Devices that fail, and models that give no numbers.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "serve/engine_fixture.h"

namespace hone::serve {
namespace {

TEST(EngineFailure, AnAnswerThatIsNoNumberIsOfItsOwnInputAlone) {
  const DamagedFolder folder("served-nan");
  folder.spoil_token(18);  // "film"
  ModelSettings settings = served_settings();
  settings.folder = folder.path();
  ServedModel model(settings);
  const JobResult got =
      submitted(model, job_of(std::make_shared<std::vector<std::string>>(
                           std::vector<std::string>{"the movie", "the film", "is great"})))
          .get();
  ASSERT_EQ(error_of(got), "");
  EXPECT_TRUE(finite(got.answers[0]));
  EXPECT_FALSE(finite(got.answers[1]));
  EXPECT_TRUE(finite(got.answers[2]));
  EXPECT_TRUE(model.ready());
}

TEST(EngineFailure, OneFailureIsOfItsBatchAndTheSessionIsOpenedAnew) {
  StepControl control;
  ServedModel model(served_settings(&control));
  const JobResult before = submitted(model, job_of(job_texts(0, 50))).get();
  for (int round = 0; round < 3; ++round) {
    control.let_fail(1);
    const JobResult failed = submitted(model, job_of(job_texts(0, 50))).get();
    EXPECT_EQ(error_of(failed), "the model's device failed: the device is on fire");
    EXPECT_THROW(std::rethrow_exception(failed.error), Error);
    const JobResult after = submitted(model, job_of(job_texts(0, 50))).get();
    ASSERT_EQ(error_of(after), "");
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(after.answers[i].values, before.answers[i].values);
    EXPECT_TRUE(model.ready());
  }
  EXPECT_EQ(model.counts().failed, 3);
  const ServedModel::Load load = model.load();
  EXPECT_EQ(load.inputs + load.tokens + load.computing + load.computing_tokens, 0);
}

TEST(EngineFailure, AWorkerThatCannotBeOpenedAnewIsNotFed) {
  StepControl control;
  ServedModel model(served_settings(&control));
  control.hold();
  std::vector<std::future<JobResult>> results;
  for (int64_t i = 0; i < 20; ++i) results.push_back(submitted(model, job_of(job_texts(0, 100))));
  control.wait_until_held();
  control.let_fail(1000);
  control.let_go();
  int unserved = 0;
  for (auto& result : results) {
    const std::string error = error_of(result.get());
    EXPECT_NE(error, "");
    unserved += error == JobUnserved().what();
  }
  EXPECT_GT(unserved, 0);
  EXPECT_EQ(error_of(submitted(model, job_of(job_texts(0, 1))).get()), JobUnserved().what());
  EXPECT_FALSE(model.ready());
  EXPECT_EQ(model.load().workers, 0);
  EXPECT_EQ(model.load().inputs + model.load().computing, 0);
  EXPECT_EQ(model.session().config().labels.size(), 2u) << "what never changes is still there";
}

TEST(EngineFailure, AFolderThatIsGoneCannotBeOpenedAnew) {
  StepControl control;
  ModelSettings settings = served_settings(&control);
  const DamagedFolder folder("served-gone");
  settings.folder = folder.path();
  ServedModel model(settings);
  std::filesystem::remove(folder.path() + "/model.safetensors");
  EXPECT_EQ(error_of(submitted(model, job_of(job_texts(0, 5))).get()), "");
  control.let_fail(1);
  EXPECT_NE(error_of(submitted(model, job_of(job_texts(0, 5))).get()), "");
  EXPECT_EQ(error_of(submitted(model, job_of(job_texts(0, 5))).get()), JobUnserved().what());
  EXPECT_FALSE(model.ready());
}

/// Fails in all steps of the worker that comes first once it is armed.
class OneBadDevice : public RunSink {
 public:
  void on_step(const StepEvent&) override {
    const std::lock_guard lock(mutex_);
    if (!armed_) return;
    if (bad_ == std::thread::id()) bad_ = std::this_thread::get_id();
    if (bad_ == std::this_thread::get_id()) throw std::runtime_error("broken");
  }
  void arm() {
    const std::lock_guard lock(mutex_);
    armed_ = true;
  }

 private:
  std::mutex mutex_;
  bool armed_ = false;
  std::thread::id bad_;
};

TEST(EngineFailure, TheOtherWorkersGoOn) {
  OneBadDevice device;
  ModelSettings settings = served_settings(&device);
  settings.devices = {"cpu", "cpu"};
  settings.max_batch_requests = 8;
  ServedModel model(settings);
  device.arm();
  std::vector<std::future<JobResult>> results;
  for (int64_t i = 0; i < 60; ++i) results.push_back(submitted(model, job_of(job_texts(i, 4))));
  int failed = 0;
  for (auto& result : results) failed += error_of(result.get()) != "";
  EXPECT_GT(failed, 0);
  EXPECT_LE(failed, 4) << "two batches at most";
  while (model.load().workers != 1) std::this_thread::yield();
  for (int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(error_of(submitted(model, job_of(job_texts(i, 4))).get()), "");
  }
  EXPECT_TRUE(model.ready());
}

}  // namespace
}  // namespace hone::serve

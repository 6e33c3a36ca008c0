// Who is let in, in which order, and who is dropped.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "serve/engine_fixture.h"

namespace hone::serve {
namespace {

using infer::JobQueue;

Job counted_job(size_t inputs, size_t bytes, std::atomic<int>* ended) {
  auto text = std::make_shared<const std::string>(bytes, 'a');
  Job job;
  job.inputs.assign(inputs, {*text, std::nullopt});
  job.texts = text;
  job.done = [ended](const JobResult&) { ++*ended; };
  return job;
}

TEST(JobQueue, IsBoundedInInputsAndTokens) {
  std::atomic<int> ended = 0;
  JobQueue queue;
  queue.set_limits({.inputs = 10, .tokens = 100, .max_length = 30});
  EXPECT_TRUE(queue.submit(counted_job(4, 32, &ended)).accepted);  // 10 tokens each, at a guess
  EXPECT_EQ(queue.load().tokens, 40);
  EXPECT_FALSE(queue.submit(counted_job(7, 0, &ended)).accepted);
  EXPECT_FALSE(queue.submit(counted_job(3, 4000, &ended)).accepted);  // cut to 30 tokens each
  EXPECT_TRUE(queue.submit(counted_job(2, 4000, &ended)).accepted);
  EXPECT_EQ(queue.load().inputs, 6);
  EXPECT_EQ(queue.load().tokens, 100);
  EXPECT_FALSE(queue.submit(counted_job(1, 0, &ended)).accepted);
  EXPECT_EQ(queue.counts().refused, 3);

  auto lot = queue.take({.tokens = 1000}, false);
  ASSERT_EQ(lot.size(), 2u);
  EXPECT_EQ(queue.load().computing, 6);
  EXPECT_FALSE(queue.submit(counted_job(1, 0, &ended)).accepted) << "what computes counts, too";
  EXPECT_TRUE(queue.note_encoded(lot[0], 12, 0));
  EXPECT_TRUE(queue.submit(counted_job(1, 0, &ended)).accepted) << "the estimate was corrected";
  EXPECT_TRUE(queue.note_encoded(lot[1], 60, 0));
  queue.release(4, 12);
  queue.release(2, 60);
  EXPECT_EQ(queue.load().computing_tokens, 0);
  queue.stop(Error(ErrorKind::failed, "stopped"));
  EXPECT_EQ(ended, 1);
  EXPECT_THROW(queue.submit(counted_job(1, 0, &ended)), Error);
}

TEST(JobQueue, TakesAJobThatIsLargerThanTheLimitsAlone) {
  std::atomic<int> ended = 0;
  JobQueue queue;
  queue.set_limits({.inputs = 10, .max_length = 30});
  EXPECT_TRUE(queue.submit(counted_job(50, 8, &ended)).accepted);
  EXPECT_FALSE(queue.submit(counted_job(1, 8, &ended)).accepted);
}

TEST(JobQueue, SaysWhenThereMayBeRoomByTheMeasuredRate) {
  std::atomic<int> ended = 0;
  JobQueue queue;
  queue.add_worker();
  queue.set_limits({.inputs = 10, .max_length = 30});
  EXPECT_TRUE(queue.submit(counted_job(10, 8, &ended)).accepted);
  EXPECT_DOUBLE_EQ(queue.submit(counted_job(3, 8, &ended)).retry_after, 1) << "not measured yet";
  queue.release_answered(0, 0, 0);
  queue.release_answered(5, 50, 10);
  queue.release(-5, -50);
  EXPECT_DOUBLE_EQ(queue.submit(counted_job(3, 8, &ended)).retry_after, 6);
  queue.add_worker();
  EXPECT_DOUBLE_EQ(queue.submit(counted_job(3, 8, &ended)).retry_after, 3);
  EXPECT_DOUBLE_EQ(queue.submit(counted_job(90, 8, &ended)).retry_after, 10) << "of all of it";
}

TEST(JobQueue, IsBoundedInTheTimeThatItTakes) {
  std::atomic<int> ended = 0;
  JobQueue queue;
  queue.add_worker();
  queue.set_limits({.inputs = 100, .max_length = 30, .seconds = 2, .any_time = 3});
  EXPECT_TRUE(queue.submit(counted_job(10, 32, &ended)).accepted) << "nothing is measured yet";
  EXPECT_TRUE(queue.submit(counted_job(10, 32, &ended)).accepted) << "nothing is measured yet";
  queue.release(5, 50);
  queue.release_answered(5, 50, 5);  // ten of twenty inputs are left, a second each
  EXPECT_DOUBLE_EQ(queue.submit(counted_job(1, 32, &ended)).retry_after, 9);
  queue.release(8, 80);
  EXPECT_TRUE(queue.submit(counted_job(1, 32, &ended)).accepted) << "three may take any time";
  EXPECT_FALSE(queue.submit(counted_job(1, 32, &ended)).accepted);
  queue.add_worker();
  EXPECT_TRUE(queue.submit(counted_job(1, 32, &ended)).accepted) << "two take half of it";
  EXPECT_FALSE(queue.submit(counted_job(1, 32, &ended)).accepted);
}

TEST(JobQueue, LetsJobsInBetweenTheSlicesOfALargeOne) {
  std::atomic<int> ended = 0;
  JobQueue queue;
  EXPECT_TRUE(queue.submit(counted_job(100, 32, &ended)).accepted);
  const auto first = queue.take({.tokens = 200}, false);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].count, 20u);
  EXPECT_TRUE(queue.submit(counted_job(3, 32, &ended)).accepted);
  EXPECT_TRUE(queue.submit(counted_job(2, 32, &ended)).accepted);
  // What came before the others goes on before them once; then they alternate.
  EXPECT_EQ(queue.take({.tokens = 200}, false)[0].first, 20u);
  const auto mixed = queue.take({.tokens = 200, .inputs = 9}, false);
  ASSERT_EQ(mixed.size(), 3u);
  EXPECT_EQ(mixed[0].count, 3u);
  EXPECT_EQ(mixed[1].count, 2u);
  EXPECT_EQ(mixed[2].first, 40u);
  EXPECT_EQ(mixed[2].count, 4u);
}

TEST(JobQueue, GivesTheRoomOfDroppedJobsBackBeforeTheirTurn) {
  std::atomic<int> ended = 0;
  std::atomic<bool> left = false;
  JobQueue queue;
  queue.set_limits({.inputs = 1000});
  EXPECT_TRUE(queue.submit(counted_job(3, 8, &ended)).accepted);
  EXPECT_TRUE(queue.submit(counted_job(397, 8, &ended)).accepted);
  for (int i = 0; i < 300; ++i) {
    Job leaving = counted_job(2, 8, &ended);
    leaving.abandoned = [&] { return left.load(); };
    EXPECT_TRUE(queue.submit(std::move(leaving)).accepted);
  }
  EXPECT_FALSE(queue.submit(counted_job(1, 8, &ended)).accepted);
  EXPECT_EQ(queue.take({.tokens = 1, .inputs = 1}, false).size(), 1u);
  EXPECT_EQ(ended, 0);
  left = true;
  EXPECT_EQ(queue.take({.tokens = 1, .inputs = 1}, false)[0].job->answers.size(), 397u);
  EXPECT_GT(ended, 200) << "some at a time";
  EXPECT_TRUE(queue.submit(counted_job(400, 8, &ended)).accepted);
  // All others are dropped when it is their turn; then comes the first job again.
  EXPECT_EQ(queue.take({.tokens = 1, .inputs = 1}, false)[0].first, 1u);
  EXPECT_EQ(ended, 300);
  EXPECT_EQ(queue.load().inputs, 797);
  EXPECT_EQ(queue.load().computing, 3);
  EXPECT_EQ(queue.counts().abandoned, 300);
}

/// A worker in the middle of a batch, and what happens when it goes on.
class BusyModel : public testing::Test {
 protected:
  void start(const ModelSettings& settings) {
    model_ = std::make_unique<ServedModel>(settings);
    model_->on_batch([this](int64_t inputs, int64_t) {
      ++batches_;
      computed_ += inputs;
    });
    control_.hold();
    plug_ = submitted(*model_, job_of_text("the film"));
    control_.wait_until_held();
  }
  StepControl control_;
  std::unique_ptr<ServedModel> model_;
  std::atomic<int> batches_ = 0;
  std::atomic<int64_t> computed_ = 0;
  std::future<JobResult> plug_;
};

TEST_F(BusyModel, AnswersASingleTextLongBeforeFiveThousand) {
  start(served_settings(&control_));
  std::vector<int> batches_before;  // the worker's thread writes them
  const auto heard = [&](Job job) {
    job.done = [&](const JobResult& result) {
      EXPECT_EQ(error_of(result), "");
      batches_before.push_back(batches_);
    };
    ASSERT_TRUE(model_->submit(std::move(job)).accepted);
  };
  heard(job_of(job_texts(0, 5000)));
  heard(job_of(job_texts(7, 1)));
  control_.let_go();
  model_.reset();
  ASSERT_EQ(batches_before.size(), 2u);
  EXPECT_LE(batches_before[0], 4);
  EXPECT_GT(batches_before[1], 40);
}

TEST_F(BusyModel, RefusesWhatDoesNotFitAndRecovers) {
  ModelSettings settings = served_settings(&control_);
  settings.max_queue_inputs = 4;
  start(settings);
  auto fits = submitted(*model_, job_of(job_texts(0, 3)));
  for (int i = 0; i < 100; ++i) {
    Job job = job_of(job_texts(0, 1));
    job.done = [](const JobResult&) { FAIL() << "was refused"; };
    const ServedModel::Admission admission = model_->submit(std::move(job));
    EXPECT_FALSE(admission.accepted);
    EXPECT_GT(admission.retry_after, 0);
  }
  control_.let_go();
  EXPECT_EQ(fits.get().answers.size(), 3u);
  EXPECT_EQ(error_of(submitted(*model_, job_of(job_texts(0, 4))).get()), "");
  EXPECT_EQ(model_->counts().refused, 100);
}

TEST_F(BusyModel, DropsLateAndAbandonedJobsBeforeTheyCompute) {
  start(served_settings(&control_));
  Job late = job_of(job_texts(0, 10));
  late.deadline = Clock::now() - std::chrono::seconds(1);
  Job gone = job_of(job_texts(0, 10));
  gone.abandoned = [] { return true; };
  Job patient = job_of(job_texts(0, 5));
  patient.deadline = Clock::now() + std::chrono::hours(1);
  patient.abandoned = [] { return false; };
  auto late_result = submitted(*model_, late);
  auto gone_result = submitted(*model_, gone);
  auto patient_result = submitted(*model_, patient);
  control_.let_go();
  EXPECT_EQ(patient_result.get().answers.size(), 5u);
  EXPECT_THROW(std::rethrow_exception(late_result.get().error), JobLate);
  EXPECT_THROW(std::rethrow_exception(gone_result.get().error), JobAbandoned);
  EXPECT_EQ(computed_, 6);
  EXPECT_EQ(model_->counts().late, 1);
  EXPECT_EQ(model_->counts().abandoned, 1);
  EXPECT_EQ(model_->counts().failed, 0);
}

TEST_F(BusyModel, ReadinessRunsAPassWhereNoneHasRun) {
  start(served_settings(&control_));
  EXPECT_TRUE(model_->ready()) << "a batch is under way";
  const Stopwatch since_the_batch;  // it begins before the batch ends
  control_.let_go();
  EXPECT_EQ(error_of(plug_.get()), "");
  EXPECT_TRUE(model_->ready());
  if (since_the_batch.seconds() < 1) {
    EXPECT_EQ(batches_, 1);
  }
  const int before = batches_;
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_TRUE(model_->ready());
  EXPECT_EQ(batches_, before + 1);
  EXPECT_EQ(model_->counts().answered, 1) << "that pass is nobody's job";
}

}  // namespace
}  // namespace hone::serve

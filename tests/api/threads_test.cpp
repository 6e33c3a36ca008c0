// Many threads at one model, and answers that are waited for later.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "hone/hone.h"
#include "infer/answered_records.h"
#include "infer/request_queue.h"

namespace hone {
namespace {

const std::string kAsked = HONE_TEST_DIR "/../models/goldens/bert-words";

std::vector<Text> varied_texts(int64_t first, int64_t count) {
  std::vector<Text> texts;
  for (int64_t i = first; i < first + count; ++i) texts.emplace_back(infer::varied_text(i));
  return texts;
}

ModelOptions with_threads(int threads) {
  ModelOptions options;
  options.threads = threads;
  return options;
}

void expect_equal(const Predictions& got, const Predictions& expected, size_t first) {
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scores, expected[first + i].scores) << first << " + " << i;
    EXPECT_EQ(got[i].tokens, expected[first + i].tokens);
  }
}

TEST(ApiThreads, GetTheAnswersToTheirOwnTexts) {
  const Model model = Model::load(kAsked, with_threads(2));
  const Predictions expected = model.predict(varied_texts(0, 400));
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t round = 0; round < 12; ++round) {
        const int64_t first = (t * 97 + round * 31) % 300;
        const int64_t count = 1 + (t * 13 + round * 29) % 90;
        const Predictions got = model.predict(varied_texts(first, count));
        ASSERT_EQ(std::ssize(got), count);
        expect_equal(got, expected, static_cast<size_t>(first));
        EXPECT_EQ(model.tokenize("the film").ids.size(), 4u);
        EXPECT_GE(model.times()[0].calls, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ApiThreads, StartedCallsAreTakenInAnyOrder) {
  const Model model = Model::load(kAsked, with_threads(2));
  const Predictions expected = model.predict(varied_texts(0, 300));
  std::vector<Pending<Predictions>> started;
  for (int64_t i = 0; i < 10; ++i) started.push_back(model.start_predict(varied_texts(30 * i, 30)));
  for (size_t i = started.size(); i-- > 0;) {
    const Predictions got = started[i].get();
    ASSERT_EQ(got.size(), 30u);
    expect_equal(got, expected, 30 * i);
    EXPECT_TRUE(started[i].ready());
    EXPECT_THROW(started[i].get(), Error);
  }
  EXPECT_TRUE(model.start_predict({}).get().empty());
  EXPECT_THROW(model.start_embed({"the film"}), Error);
}

TEST(ApiThreads, AMistakeIsOfItsOwnCallAlone) {
  ModelOptions options = with_threads(2);
  options.max_length = 2;  // a pair has three special tokens
  const Model model = Model::load(kAsked, options);
  std::vector<Pending<Predictions>> good;
  std::vector<Pending<Predictions>> bad;
  for (int i = 0; i < 8; ++i) {
    good.push_back(model.start_predict(varied_texts(0, 200)));
    bad.push_back(model.start_predict({"the film", Text("the film", "is great")}));
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(good[static_cast<size_t>(i)].get().size(), 200u);
    EXPECT_THROW(bad[static_cast<size_t>(i)].get(), Error);
  }
}

TEST(ApiThreads, AModelGoesAwayWithWorkUnderWay) {
  for (const bool waits : {false, true}) {
    std::optional<Model> model = Model::load(kAsked, with_threads(2));
    Pending<Predictions> first = model->start_predict(varied_texts(0, 20));
    std::vector<Pending<Predictions>> others;
    for (int i = 0; i < 4; ++i) others.push_back(model->start_predict(varied_texts(0, 20'000)));
    if (waits) {
      EXPECT_EQ(first.get().size(), 20u);
    }
    others.pop_back();
    model.reset();
    for (Pending<Predictions>& other : others) {
      try {
        EXPECT_EQ(other.get().size(), 20'000u);
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the model was closed before it answered");
      }
    }
  }
  Model model = Model::load(kAsked, with_threads(1));
  Pending<Predictions> old = model.start_predict(varied_texts(0, 20'000));
  model = Model::load(kAsked, with_threads(1));
  EXPECT_EQ(model.predict({"the film"}).size(), 1u);
  try {
    old.get();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::failed);
  }
}

}  // namespace

namespace infer {
namespace {

/// Holds the first step until it is let go; at every step hears whether an answer is there.
class StepGate : public RunSink {
 public:
  void on_step(const StepEvent&) override {
    if (steps++ == 0) opened.get_future().wait();
    const bool there =
        watched.valid() && watched.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (there && found_after == 0) found_after = steps;
  }
  std::promise<void> opened;
  std::shared_future<std::vector<Answer>> watched;  ///< set before it opens
  std::atomic<int64_t> steps = 0;
  int64_t found_after = 0;
};

TEST(RequestQueue, LetsAShortRequestInBeforeALongOneIsDone) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < 3000; ++i) texts.push_back(varied_text(i));
  std::vector<Input> many;
  for (const std::string& text : texts) many.push_back({text, std::nullopt});
  StepGate gate;
  {
    RequestQueue queue(kAsked, {.threads = 2}, &gate);
    auto all = queue.ask(many);
    gate.watched = queue.ask({many[7]}).share();
    gate.opened.set_value();
    EXPECT_EQ(all.get().size(), many.size());
    EXPECT_EQ(gate.watched.get().size(), 1u);
  }
  EXPECT_GT(gate.found_after, 0);
  EXPECT_LT(gate.found_after, gate.steps / 4);
}

TEST(RequestQueue, PacksTogetherWhatIsAskedForAtOneTime) {
  StepGate gate;
  RequestQueue queue(kAsked, {.threads = 1}, &gate);
  std::vector<std::future<std::vector<Answer>>> answers;
  answers.push_back(queue.ask({{"the film", {}}}));
  while (gate.steps == 0) std::this_thread::yield();
  const int64_t steps_a_pass = std::ssize(queue.session().plan().steps());
  for (int i = 0; i < 9; ++i) answers.push_back(queue.ask({{"is great", {}}}));
  gate.opened.set_value();
  for (auto& answer : answers) EXPECT_EQ(answer.get().size(), 1u);
  queue.while_idle([&](const RequestQueue::Times& times) {
    EXPECT_EQ(times.requests, 10);
    EXPECT_EQ(gate.steps, 2 * steps_a_pass);
  });
}

TEST(RequestQueue, RefusesWhatWaitsWhenItIsStopped) {
  StepGate gate;
  RequestQueue queue(kAsked, {.threads = 1}, &gate);
  auto under_way = queue.ask({{"the film", {}}});
  while (gate.steps == 0) std::this_thread::yield();
  auto waits = queue.ask({{"is great", {}}});
  std::thread stops([&] { queue.stop(); });
  // What waits gets its error while the worker is still at its first step.
  waits.wait_for(std::chrono::minutes(1));
  gate.opened.set_value();
  stops.join();
  EXPECT_THROW(waits.get(), Error);
}

}  // namespace
}  // namespace infer
}  // namespace hone

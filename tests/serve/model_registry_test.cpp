// Models by name, and swapped while they serve.
#include "serve/model_registry.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "serve/engine_fixture.h"

namespace hone::serve {
namespace {

const std::string kOtherFolder = HONE_TEST_DIR "/../models/goldens/electra-projected";

TEST(ModelRegistry, FindsModelsByNameAndTheFirstByNone) {
  ModelRegistry registry;
  EXPECT_EQ(registry.find(""), nullptr);
  ModelSettings settings = served_settings();
  registry.load("words", settings);
  settings.folder = kOtherFolder;
  registry.load("other", settings);
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"words", "other"}));
  EXPECT_EQ(registry.find("")->settings().folder, kServedFolder);
  EXPECT_EQ(registry.find("other")->settings().folder, kOtherFolder);
  EXPECT_EQ(registry.find("third"), nullptr);
  EXPECT_THROW(registry.load("third", kOtherFolder), Error);
  EXPECT_THROW(registry.load("", kOtherFolder), Error);
}

TEST(ModelRegistry, ABadFolderLeavesTheOldModelServing) {
  ModelRegistry registry;
  registry.load("words", served_settings());
  try {
    registry.load("words", "/no/such/folder");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/folder"), std::string::npos);
  }
  EXPECT_EQ(error_of(submitted(*registry.find("words"), job_of(job_texts(0, 5))).get()), "");
  EXPECT_EQ(registry.names().size(), 1u);
}

TEST(ModelRegistry, SwapsUnderLoadWithoutAFailedJob) {
  ModelRegistry registry;
  std::atomic<int> loads = 0;
  std::atomic<int> batches = 0;
  registry.on_load([&](const std::string& name, ServedModel& model) {
    EXPECT_EQ(name, "words");
    ++loads;
    model.on_batch([&](int64_t, int64_t) { ++batches; });
  });
  registry.load("words", served_settings());
  std::atomic<bool> stop = false;
  std::atomic<int> failed = 0;
  std::atomic<int64_t> answered = 0;
  std::vector<std::thread> clients;
  for (int64_t t = 0; t < 3; ++t) {
    clients.emplace_back([&, t] {
      for (int64_t i = 0; !stop; ++i) {
        const std::shared_ptr<ServedModel> model = registry.find("words");
        const JobResult result = submitted(*model, job_of(job_texts(i % 50, 1 + t * 20))).get();
        failed += error_of(result) != "";
        answered += std::ssize(result.answers);
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    const int64_t before = answered;
    registry.load("words", i % 2 == 0 ? kOtherFolder : kServedFolder);
    while (answered < before + 100) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(loads, 7);
  EXPECT_GT(batches, 7);
  EXPECT_EQ(registry.find("words")->settings().folder, kServedFolder);
}

int threads_of_low_priority() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int id = std::stoi(task.path().filename());
    count += ::getpriority(PRIO_PROCESS, static_cast<id_t>(id)) >
             ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()));
  }
  return count;
}

/// Waits until so many threads have a low priority: one takes it after its start, and one that has
/// ended is listed for a moment.
bool low_priority_settles_at(int count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_of_low_priority() != count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(ModelRegistry, AModelThatWasLoadedBesideAnotherAnswersLikeOne) {
  const int others = threads_of_low_priority();
  ModelRegistry registry;
  const int low = others + 1;  // the thread that ends models
  ASSERT_TRUE(low_priority_settles_at(low));
  ModelSettings settings = served_settings();
  settings.session.threads = 2;
  const auto answers = [&] {
    return submitted(*registry.find(""), job_of(job_texts(0, 40))).get().answers;
  };
  registry.load("words", settings);
  const std::vector<infer::Answer> before = answers();
  ASSERT_TRUE(low_priority_settles_at(low));
  registry.load("words", settings);
  const std::vector<infer::Answer> after = answers();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].values, after[i].values);
  EXPECT_TRUE(low_priority_settles_at(low)) << "those that answer have the usual priority";
}

TEST(ModelRegistry, TheLastOfAModelMayGoInItsOwnThread) {
  ModelRegistry registry;
  registry.load("words", served_settings());
  std::promise<void> done;
  {
    std::shared_ptr<ServedModel> old = registry.find("words");
    Job job = job_of(job_texts(0, 2000));
    job.done = [old, &done](const JobResult& result) {
      EXPECT_EQ(error_of(result), "");
      done.set_value();
    };
    ASSERT_TRUE(old->submit(std::move(job)).accepted);
    registry.load("words", kOtherFolder);
  }
  done.get_future().get();
  EXPECT_EQ(error_of(submitted(*registry.find(""), job_of(job_texts(0, 5))).get()), "");
}

}  // namespace
}  // namespace hone::serve

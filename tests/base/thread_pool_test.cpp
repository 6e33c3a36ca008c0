#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>

namespace hone {
namespace {

class Pools : public testing::TestWithParam<int> {};

TEST_P(Pools, RunsEveryTaskOnce) {
  ThreadPool pool(GetParam());
  for (const int64_t tasks : {0, 1, 2, 7, 1000}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
      pool.run(tasks, [&](int64_t task, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, pool.size());
        counts[static_cast<size_t>(task)].fetch_add(1);
      });
      for (const auto& count : counts) ASSERT_EQ(count.load(), 1);
    }
  }
}

TEST_P(Pools, NestedCallsRunInline) {
  ThreadPool pool(GetParam());
  std::atomic<int> total{0};
  pool.run(8, [&](int64_t, int) { pool.run(5, [&](int64_t, int) { ++total; }); });
  EXPECT_EQ(total.load(), 40);
}

TEST_P(Pools, RethrowsAndGoesOn) {
  ThreadPool pool(GetParam());
  EXPECT_THROW(pool.run(100,
                        [](int64_t task, int) {
                          if (task == 17) throw std::runtime_error("17");
                        }),
               std::runtime_error);
  std::atomic<int> total{0};
  pool.run(100, [&](int64_t, int) { ++total; });
  EXPECT_EQ(total.load(), 100);
}

/// Workers that wake up late find another run's tasks, or none; never those of a run that is over.
TEST_P(Pools, ManySmallRunsInARow) {
  ThreadPool pool(GetParam());
  for (int64_t run = 0; run < 3000; ++run) {
    const int64_t tasks = run % 5 + 1;
    std::vector<std::atomic<int>> done(static_cast<size_t>(tasks));
    pool.run(tasks, [&](int64_t task, int worker) {
      EXPECT_LT(worker, pool.size());
      ++done[static_cast<size_t>(task)];
    });
    for (const std::atomic<int>& count : done) ASSERT_EQ(count.load(), 1) << "run " << run;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Pools, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace hone

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/ranks.h"

namespace hone::comm {
namespace {

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Sums at every step until something stops it; rank `last` alone does `fault` at step 5.
void steps(Communicator& ranks, int which, const std::function<void()>& fault) {
  std::vector<float> data(1000, 1.f);
  for (int64_t step = 1; step < 1'000'000; ++step) {
    ranks.set_step(step);
    if (step == 5 && ranks.rank() == which) fault();
    ranks.sum(std::span<float>(data));
    sleep_for(0.001);
  }
}

void expect_parts(const RankEnd& end, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(end.message.find(part), std::string::npos) << part << " in: " << end.message;
  }
}

TEST(Failure, AKilledRankEndsAllAndIsNamed) {
  const auto ends = run_ranks(
      3, [](Communicator& ranks) { steps(ranks, 1, [] { ::kill(::getpid(), SIGKILL); }); });
  EXPECT_EQ(ends[1].code, 128 + SIGKILL);
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(ends[i].code, 1);
    expect_parts(ends[i],
                 {"rank 1 on ", " has ended", "last seen at sum of 4000 bytes", "step 4)"});
  }
}

TEST(Failure, AKilledRankEndsThoseThatCompute) {
  const auto ends = run_ranks(2, [](Communicator& ranks) {
    ranks.barrier();
    if (ranks.rank() == 0) ::kill(::getpid(), SIGKILL);
    sleep_for(60);
  });
  EXPECT_EQ(ends[1].code, 1);
  expect_parts(ends[1], {"lost: rank 0 on ", " has ended"});
  EXPECT_LT(ends[1].seconds, 20);
}

TEST(Failure, ASilentRankIsNamedAndEnded) {
  RankOptions options;
  options.comm.watch.timeout = 1.5;
  const auto ends = run_ranks(
      3, [](Communicator& ranks) { steps(ranks, 2, [] { ::kill(::getpid(), SIGSTOP); }); },
      options);
  EXPECT_EQ(ends[2].code, 128 + SIGKILL);
  for (const size_t i : {0, 1}) {
    EXPECT_EQ(ends[i].code, 1);
    expect_parts(ends[i], {"rank 2 on ", " has been silent for ", "step 4)"});
  }
}

TEST(Failure, ARankThatDoesNotComeIsNamed) {
  RankOptions options;
  options.comm.watch.timeout = 1.5;
  const int memory = HostMemory::create(2);
  try {
    const Communicator ranks(memory, 0, 2, options.comm);
    FAIL() << "the other rank was never there";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 on "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("has not come for"), std::string::npos);
  }
  ::close(memory);
}

TEST(Failure, ASlowRankIsWaitedFor) {
  RankOptions options;
  options.comm.watch.timeout = 1.5;
  expect_all_well(run_ranks(
      2,
      [](Communicator& ranks) {
        if (ranks.rank() == 1) sleep_for(2);
        ranks.barrier();
      },
      options));
}

TEST(Failure, AJobThatIsStoppedAsAWholeGoesOn) {
  RankOptions options;
  options.comm.watch.timeout = 1.5;
  options.meanwhile = [](const std::vector<int>& processes) {
    sleep_for(0.2);
    for (const int process : processes) ::kill(process, SIGSTOP);
    sleep_for(3.5);
    for (const int process : processes) ::kill(process, SIGCONT);
  };
  expect_all_well(run_ranks(
      2,
      [](Communicator& ranks) {
        for (int i = 0; i < 100; ++i) {
          ranks.barrier();
          sleep_for(0.005);
        }
      },
      options));
}

TEST(Failure, OneRanksErrorIsEverybodys) {
  const auto ends = run_ranks(3, [](Communicator& ranks) {
    steps(ranks, 0, [&] {
      ranks.stop_all("out/checkpoint-4: cannot write: No space left on device");
      throw Error(ErrorKind::io, "out/checkpoint-4: cannot write: No space left on device");
    });
  });
  for (const RankEnd& end : ends) EXPECT_EQ(end.code, 1);
  for (const size_t i : {1, 2}) {
    expect_parts(ends[i], {"rank 0 on ", "step 5: out/checkpoint-4: cannot write: No space"});
  }
}

TEST(Failure, ARankThatThrowsEndsTheOthers) {
  const auto ends = run_ranks(2, [](Communicator& ranks) {
    steps(ranks, 1, [] { throw Error(ErrorKind::failed, "the loss is no number"); });
  });
  EXPECT_EQ(ends[1].message, "the loss is no number");
  expect_parts(ends[0], {"rank 1 on ", "step 5", "failed"});
}

TEST(Failure, CollectivesOutOfOrderAreNamedByBothRanks) {
  const auto ends = run_ranks(2, [](Communicator& ranks) {
    std::vector<float> data(100, 1.f);
    ranks.set_step(7);
    ranks.barrier();
    if (ranks.rank() == 0) {
      ranks.sum(std::span<float>(data));
    } else {
      (void)ranks.gather("abc");
    }
  });
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.code, 1);
    expect_parts(end, {"rank 0 on ", "is at sum of 400 bytes (collective 2, step 7)", "rank 1 on ",
                       "at gather of 3 bytes (collective 2, step 7)"});
  }
}

TEST(Failure, SumsOfOtherSizesStepsOrPlacesAreNamed) {
  const std::vector<std::function<void(Communicator&)>> differences = {
      [](Communicator& ranks) {
        std::vector<float> data(ranks.rank() == 0 ? 100 : 101, 1.f);
        ranks.sum(std::span<float>(data));
      },
      [](Communicator& ranks) {
        std::vector<float> data(100, 1.f);
        ranks.set_step(ranks.rank());
        ranks.sum(std::span<float>(data));
      },
      [](Communicator& ranks) {
        auto* data = static_cast<float*>(ranks.window(400));
        ranks.wait(ranks.start_sum(data + ranks.rank(), 50));
      }};
  for (const auto& difference : differences) {
    for (const RankEnd& end : run_ranks(2, difference)) {
      EXPECT_EQ(end.code, 1);
      expect_parts(end, {"ranks have come apart: rank 0 on ", ", rank 1 on "});
    }
  }
}

TEST(Failure, ARankThatEndsEarlyIsNamed) {
  const auto ends = run_ranks(2, [](Communicator& ranks) {
    ranks.barrier();
    if (ranks.rank() == 0) ranks.barrier();
  });
  EXPECT_EQ(ends[1].code, 0);
  EXPECT_EQ(ends[0].code, 1);
  expect_parts(ends[0], {"rank 1 on ", " has ended behind barrier (collective 1, step 0)", "rank 0",
                         "is at barrier (collective 2, step 0)"});
}

}  // namespace
}  // namespace hone::comm

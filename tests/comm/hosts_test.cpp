#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/guardian.h"
#include "comm/ranks.h"
#include "comm/sockets.h"

namespace hone::comm {
namespace {

/// Three hosts; the second has two ranks.
RankOptions three_hosts(double timeout = 60) {
  RankOptions options;
  options.hosts = {"n1", "n2", "n2", "n3"};
  options.comm.watch.timeout = timeout;
  return options;
}

void nap(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Sums at every step until something stops it; one rank alone does `fault` at step 5.
void step_on(Communicator& ranks, int which, const std::function<void()>& fault) {
  std::vector<float> data(1000, 1.f);
  for (int64_t step = 1; step < 1'000'000; ++step) {
    ranks.set_step(step);
    if (step == 5 && ranks.rank() == which) fault();
    ranks.sum(std::span<float>(data));
    nap(0.01);
  }
}

void expect_all_name(const std::vector<RankEnd>& ends, int lost,
                     const std::vector<std::string>& parts) {
  for (size_t i = 0; i < ends.size(); ++i) {
    if (static_cast<int>(i) == lost) continue;
    EXPECT_EQ(ends[i].code, 1) << "rank " << i;
    for (const std::string& part : parts) {
      EXPECT_NE(ends[i].message.find(part), std::string::npos) << part << " in " << ends[i].message;
    }
  }
}

void expect_only_rank_0_tells(const std::vector<RankEnd>& ends) {
  for (size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(ends[i].told, i == 0) << "rank " << i;
}

class LostRank : public ::testing::TestWithParam<int> {};

TEST_P(LostRank, KilledOnAnyHostEndsAllHosts) {
  const int lost = GetParam();
  const auto ends = run_ranks(
      4, [&](Communicator& ranks) { step_on(ranks, lost, [] { ::kill(::getpid(), SIGKILL); }); },
      three_hosts());
  EXPECT_EQ(ends[static_cast<size_t>(lost)].code, 128 + SIGKILL);
  const std::string host = three_hosts().hosts[static_cast<size_t>(lost)];
  expect_all_name(ends, lost,
                  {"rank " + std::to_string(lost) + " on " + host + " has ended", "step"});
}

INSTANTIATE_TEST_SUITE_P(Ranks, LostRank, ::testing::Values(0, 1, 2, 3));

TEST(Hosts, ASilentHostIsNamed) {
  RankOptions options = three_hosts(2);
  options.meanwhile = [&](const std::vector<int>& processes) {
    nap(4);  // it is alone on its host: nobody there ends it
    ::kill(processes[3], SIGKILL);
  };
  const auto ends = run_ranks(
      4, [](Communicator& ranks) { step_on(ranks, 3, [] { ::kill(::getpid(), SIGSTOP); }); },
      options);
  expect_all_name(ends, 3, {"rank 3 on n3 has been silent for ", "step 5)"});
}

TEST(Hosts, TheGuardianEndsAProcessThatIsStopped) {
  const pid_t process = ::fork();
  if (process == 0) {
    const Guardian guardian(0.2);
    ::kill(::getpid(), SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(Hosts, AnErrorOfOneIsToldOnAll) {
  const auto ends = run_ranks(
      4,
      [](Communicator& ranks) {
        step_on(ranks, 2, [&] {
          ranks.stop_all("/data/out: cannot write: No space left on device");
          throw Error(ErrorKind::io, "no space");
        });
      },
      three_hosts());
  expect_all_name(ends, 2, {"rank 2 on n2, step 5: /data/out: cannot write: No space left"});
}

TEST(Hosts, CollectivesOutOfOrderAreNamed) {
  const auto ends = run_ranks(
      4,
      [](Communicator& ranks) {
        ranks.barrier();
        std::vector<float> data(ranks.rank() == 3 ? 10 : 20);
        ranks.sum(std::span<float>(data));
      },
      three_hosts());
  expect_all_name(ends, -1,
                  {"ranks have come apart: rank 0 on n1 is at sum of 80 bytes (collective 2, step "
                   "0), rank 3 on n3 is at sum of 40 bytes"});
  expect_only_rank_0_tells(ends);
}

TEST(Hosts, FieldsThatDifferAreNamed) {
  const auto ends = run_ranks(
      4,
      [](Communicator& ranks) {
        agree(ranks, {{"config", ranks.rank() == 3 ? "12 layers" : "6 layers"}});
      },
      three_hosts());
  expect_all_name(ends, -1,
                  {"config: ranks differ: '6 layers' on rank 0 (n1), '12 layers' on rank 3 (n3)"});
  expect_only_rank_0_tells(ends);
}

TEST(Hosts, FieldsThatOneRankAloneHasAreNamed) {
  const auto ends = run_ranks(
      4,
      [](Communicator& ranks) {
        Fields fields = {{"layers", "6"}, {"width", "64"}};
        if (ranks.rank() == 1) fields.insert(fields.begin(), {"heads", "4"});
        agree(ranks, fields);
      },
      three_hosts());
  expect_all_name(ends, -1, {"heads: ranks differ: nothing on rank 0 (n1), '4' on rank 1 (n2)"});
  expect_only_rank_0_tells(ends);
}

TEST(Hosts, WhatAllFindIsToldOnceWhoeverIsTheFirst) {
  for (int slow = 0; slow < 4; ++slow) {
    const auto ends = run_ranks(
        4,
        [&](Communicator& ranks) {
          ranks.barrier();
          if (ranks.rank() == slow) nap(0.3);
          ranks.fail_run("the loss is no number");
        },
        three_hosts());
    expect_all_name(ends, -1, {"the loss is no number"});
    expect_only_rank_0_tells(ends);
  }
}

TEST(Hosts, AListenerLetsInWhoKnowsTheSecret) {
  Listener listener(true);
  Address wrong = listener.address();
  wrong.secret.front() = wrong.secret.front() == '0' ? '1' : '0';
  const Socket stranger = connect_to(wrong, "1", 5);
  const Socket friendly = connect_to(listener.address(), "2", 5);
  std::string more = "beat";
  ASSERT_TRUE(friendly.send_some(more));
  Guest guest = listener.accept(5);
  EXPECT_TRUE(guest.socket.open());
  EXPECT_EQ(guest.text, "2");
  while (guest.rest.size() < 4 && guest.socket.read_some(guest.rest)) nap(0.001);
  EXPECT_EQ(guest.rest, "beat");
  EXPECT_FALSE(listener.accept(0.05).socket.open());
}

}  // namespace
}  // namespace hone::comm

#include "comm/ranks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "comm/exchange.h"
#include "comm/host_memory.h"
#include "comm/run_failed.h"
#include "comm/socket_link.h"

namespace hone::comm {
namespace {

constexpr char kTold = '!';

void put_all(int descriptor, const std::string& text, bool told) {
  const std::string message = told ? kTold + text : text;
  if (::write(descriptor, message.data(), message.size()) < 0) ::_exit(4);
}

/// What ranks have from the process that forks them.
struct Inherited {
  int memory = -1;
  std::vector<std::vector<int>> sockets;
};

std::unique_ptr<Communicator> open_ranks(const Inherited& inherited, int rank, int size,
                                         const RankOptions& options, const Options& comm) {
  if (options.hosts.empty()) {
    return std::make_unique<Communicator>(inherited.memory, rank, size, comm);
  }
  const std::string& host = options.hosts[static_cast<size_t>(rank)];
  auto link = std::make_unique<SocketLink>(rank, inherited.sockets[static_cast<size_t>(rank)]);
  // Ends of other ranks would keep a connection open whose process has gone.
  for (size_t i = 0; i < inherited.sockets.size(); ++i) {
    for (const int each : inherited.sockets[i]) {
      if (i != static_cast<size_t>(rank) && each >= 0) ::close(each);
    }
  }
  return std::make_unique<Communicator>(
      make_link_exchange(std::move(link), {host, host}, comm.watch, true), comm);
}

[[noreturn]] void be_rank(const Inherited& inherited, int rank, int size, int message,
                          const RankOptions& how, const std::function<void(Communicator&)>& body) {
  Options options = how.comm;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int code = 0;
  if (!options.watch.on_lost) {
    options.watch.on_lost = [message](const std::string& why, bool told_here) {
      put_all(message, "lost: " + why, told_here);
      ::_exit(1);
    };
  }
  try {
    const auto ranks = open_ranks(inherited, rank, size, how, options);
    body(*ranks);
  } catch (const std::exception& error) {
    const auto* failed = dynamic_cast<const RunFailed*>(&error);
    put_all(message, error.what(), failed && failed->told_here());
    code = 1;
  }
  if (code == 0 && ::testing::Test::HasFailure()) code = 3;
  std::cout.flush();
  ::_exit(code);
}

}  // namespace

std::vector<RankEnd> run_ranks(int size, const std::function<void(Communicator&)>& body,
                               const RankOptions& options) {
  const Stopwatch watch;
  Inherited inherited;
  if (options.hosts.empty()) {
    inherited.memory = HostMemory::create(size);
  } else {
    inherited.sockets = make_pairs(size);
  }
  std::vector<RankEnd> ends(static_cast<size_t>(size));
  std::vector<int> processes;
  std::vector<int> messages;
  for (int rank = 0; rank < size; ++rank) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    const pid_t process = ::fork();
    if (process == 0) be_rank(inherited, rank, size, pipe[1], options, body);
    ::close(pipe[1]);
    processes.push_back(process);
    messages.push_back(pipe[0]);
  }
  if (inherited.memory >= 0) ::close(inherited.memory);
  for (const auto& each : inherited.sockets) {
    for (const int end : each) ::close(end);
  }
  if (options.meanwhile) options.meanwhile(processes);
  double waited = 0;
  double last = watch.seconds();
  for (size_t left = ends.size(); left > 0;) {
    // Time in which all of this was stopped does not count.
    const double now = watch.seconds();
    waited += std::min(now - last, 0.1);
    last = now;
    const bool late = waited > options.patience;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].code != -1) continue;
      if (late) ::kill(processes[i], SIGKILL);
      int status = 0;
      if (::waitpid(processes[i], &status, late ? 0 : WNOHANG) == 0) continue;
      ends[i].code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      ends[i].seconds = watch.seconds();
      --left;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    char text[4096];
    const ssize_t got = ::read(messages[i], text, sizeof text);
    if (got > 0) ends[i].message.assign(text, static_cast<size_t>(got));
    ends[i].told = ends[i].message.starts_with(kTold);
    if (ends[i].told) ends[i].message.erase(0, 1);
    ::close(messages[i]);
  }
  return ends;
}

void expect_all_well(const std::vector<RankEnd>& ends) {
  for (size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(ends[i].code, 0) << "rank " << i << ": " << ends[i].message;
  }
}

}  // namespace hone::comm

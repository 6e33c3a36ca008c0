#include "cli/launcher.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "comm/descriptor.h"
#include "comm/host_memory.h"
#include "comm/world.h"

namespace hone::cli {
namespace {

/// Ranks have so long to end by themselves after one of them was lost.
constexpr double kPatience = 10;

/// The processes of one attempt.
class RankProcesses {
 public:
  RankProcesses(int64_t ranks, const std::vector<std::string>& more_variables, const char* command,
                const Words& words);
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  /// Waits for all; returns the exit code of the first that failed, 0 where none did.
  int wait(const GracefulStop& stop);
  /// Counts the ranks that a signal ended which this did not send.
  int64_t lost() const { return lost_; }

 private:
  bool collect();
  void signal(int number) const;

  std::vector<pid_t> running_;  ///< by rank; 0 where it has ended
  int code_ = 0;
  int64_t lost_ = 0;
  bool killed_ = false;
};

/// Runs between fork and exec, so it neither allocates nor locks.
[[noreturn]] void become_rank(int rank, int memory, char* const* words, char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // so that a terminal's Ctrl-C comes once, from the launcher
  ::fcntl(memory, F_SETFD, 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  if (rank != 0) ::dup2(nothing, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(words[0], words, environment);
  constexpr int kNotRunnable = 127;
  ::_exit(kNotRunnable);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& each : texts) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

RankProcesses::RankProcesses(int64_t ranks, const std::vector<std::string>& more_variables,
                             const char* command, const Words& words) {
  const comm::Descriptor memory(comm::HostMemory::create(static_cast<int>(ranks)));
  std::vector<std::string> arguments = {own_program(), command};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const std::vector<char*> argument_list = pointers_to(arguments);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> variables = {
        fmt::format("{}={}", comm::kRankVariable, rank),
        fmt::format("{}={}", comm::kRanksVariable, ranks),
        fmt::format("{}={}", comm::kMemoryVariable, memory.number())};
    variables.insert(variables.end(), more_variables.begin(), more_variables.end());
    for (char** each = environ; *each; ++each) variables.emplace_back(*each);
    const std::vector<char*> environment = pointers_to(variables);
    const pid_t process = ::fork();
    if (process < 0) fail(ErrorKind::io, "cannot start a rank: {}", std::strerror(errno));
    if (process == 0) {
      become_rank(rank, memory.number(), argument_list.data(), environment.data());
    }
    running_.push_back(process);
  }
}

RankProcesses::~RankProcesses() {
  signal(SIGKILL);
  for (const pid_t process : running_) {
    if (process > 0) ::waitpid(process, nullptr, 0);
  }
}

void RankProcesses::signal(int number) const {
  for (const pid_t process : running_) {
    if (process > 0) ::kill(process, number);
  }
}

/// Takes what has ended; gives whether a rank is left.
bool RankProcesses::collect() {
  for (size_t rank = 0; rank < running_.size(); ++rank) {
    int status = 0;
    if (running_[rank] == 0 || ::waitpid(running_[rank], &status, WNOHANG) == 0) continue;
    running_[rank] = 0;
    if (WIFEXITED(status)) {
      // A mistake that one rank alone found counts more than that the others had to end.
      if (code_ == 0 || WEXITSTATUS(status) == kUserError) code_ = WEXITSTATUS(status);
      continue;
    }
    if (!killed_) {
      ++lost_;
      fmt::print(stderr, "hone: rank {} was ended by signal {} ({})\n", rank, WTERMSIG(status),
                 ::strsignal(WTERMSIG(status)));
    }
    if (code_ == 0) code_ = kFailed;
  }
  return std::any_of(running_.begin(), running_.end(), [](pid_t process) { return process > 0; });
}

int RankProcesses::wait(const GracefulStop& stop) {
  bool told = false;
  double failed_at = -1;
  const Stopwatch watch;
  while (collect()) {
    if (stop.requested() && !told) {
      signal(SIGTERM);
      told = true;
    }
    if (code_ != 0 && failed_at < 0) failed_at = watch.seconds();
    if (failed_at >= 0 && watch.seconds() > failed_at + kPatience && !killed_) {
      killed_ = true;
      signal(SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return code_;
}

}  // namespace

int launch_ranks(const LaunchOptions& options, const char* command, const Words& words) {
  const GracefulStop stop;
  int64_t ranks = options.ranks;
  for (int restarts = 0;; ++restarts) {
    RankProcesses processes(ranks,
                            {fmt::format("{}={}", comm::kRestartsVariable, restarts),
                             fmt::format("{}={}", comm::kFirstRanksVariable, options.ranks)},
                            command, words);
    const int code = processes.wait(stop);
    if (code != kFailed || restarts >= options.restarts || stop.requested()) return code;
    if (options.min_ranks > 0) ranks = std::max(ranks - processes.lost(), options.min_ranks);
    fmt::print(stderr, "hone: restart {} of {}, with {} ranks, from the last checkpoint\n",
               restarts + 1, options.restarts, ranks);
  }
}

}  // namespace hone::cli

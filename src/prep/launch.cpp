#include "prep/launch.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "base/child_process.h"
#include "base/error.h"

namespace hone::prep {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start_rank(int rank, int count, std::vector<std::string> words) {
  std::vector<std::string> variables = {fmt::format("HONE_PREP_RANK={}", rank),
                                        fmt::format("HONE_PREP_RANKS={}", count),
                                        fmt::format("HONE_PREP_LAUNCH={}", ::getpid())};
  for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
  words.insert(words.begin(), own_program());
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  const pid_t process = ::fork();
  if (process < 0) fail(ErrorKind::io, "cannot start a process: {}", std::strerror(errno));
  if (process == 0) {  // From here to execve nothing may be allocated or locked.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::execve(arguments[0], arguments.data(), environment.data());
    constexpr int kNotStarted = 127;
    ::_exit(kNotStarted);
  }
  return process;
}

}  // namespace

int run_processes(int count, const std::vector<std::string>& arguments) {
  std::map<pid_t, int> ranks;
  for (int rank = 0; rank < count; ++rank) ranks[start_rank(rank, count, arguments)] = rank;
  int code = 0;
  std::string ended;  // what is said of the first that a signal ended
  while (!ranks.empty()) {
    int status = 0;
    const pid_t process = ::waitpid(-1, &status, 0);
    if (process < 0 && errno == EINTR) continue;
    if (process < 0) fail(ErrorKind::io, "cannot wait: {}", std::strerror(errno));
    const auto found = ranks.find(process);
    if (found == ranks.end()) continue;
    const int rank = found->second;
    ranks.erase(found);
    if (status == 0 || code != 0) continue;
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (WIFSIGNALED(status)) {
      ended = fmt::format(
          "process {} of {} was ended by signal {}; start again, and it goes on "
          "from there",
          rank, count, WTERMSIG(status));
    }
    for (const auto& [other, number] : ranks) ::kill(other, SIGTERM);
  }
  if (!ended.empty()) fail(ErrorKind::failed, "{}", ended);
  return code;
}

}  // namespace hone::prep

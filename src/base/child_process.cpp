#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace hone {
namespace {

/// Holds both ends of a pipe, which are closed with it.
struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(size_t which) {
    if (ends[which] >= 0) ::close(std::exchange(ends[which], -1));
  }
  /// Appends what can be read, and closes the reading end where there is no more to come.
  void read_some(std::string& out) {
    std::array<char, 1 << 14> bytes;
    const ssize_t got = ::read(ends[0], bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return close_end(0);
    out.append(bytes.data(), static_cast<size_t>(got));
  }

  std::array<int, 2> ends = {-1, -1};
};

/// Runs between fork and exec, so it neither allocates nor locks.
[[noreturn]] void become(char* const* words, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int in = ::open("/dev/null", O_RDONLY);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(words[0], words);
  constexpr int kNotRunnable = 127;
  ::_exit(kNotRunnable);
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) fail(ErrorKind::io, "cannot wait: {}", std::strerror(errno));
  }
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

}  // namespace

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

ChildResult run_child(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& each : arguments) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  Pipe out;
  Pipe err;
  const pid_t process = ::fork();
  if (process < 0) fail(ErrorKind::io, "{}: cannot start: {}", program, std::strerror(errno));
  if (process == 0) become(words.data(), out.ends[1], err.ends[1]);
  out.close_end(1);
  err.close_end(1);
  ChildResult result;
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> waited = {{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    ::poll(waited.data(), waited.size(), -1);
    if (waited[0].revents != 0) out.read_some(result.out);
    if (waited[1].revents != 0) err.read_some(result.err);
  }
  result.code = wait_for(process);
  return result;
}

}  // namespace hone

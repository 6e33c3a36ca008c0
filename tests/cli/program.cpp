#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/file.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kPatience = 120'000;  // milliseconds without a byte: sanitizers on a busy machine

void close_end(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

/// False at the end, or where nothing came in time.
bool read_some(int descriptor, std::string& out) {
  pollfd waited{descriptor, POLLIN, 0};
  if (::poll(&waited, 1, kPatience) <= 0) return false;
  char bytes[1 << 16];
  const ssize_t got = ::read(descriptor, bytes, sizeof bytes);
  if (got <= 0) return false;
  out.append(bytes, static_cast<size_t>(got));
  return true;
}

/// The next line of a pipe, of which `ahead` has been read already.
std::string take_line(int descriptor, std::string& ahead) {
  size_t end = 0;
  while ((end = ahead.find('\n')) == std::string::npos) {
    if (!read_some(descriptor, ahead)) return "";
  }
  std::string line = ahead.substr(0, end);
  ahead.erase(0, end + 1);
  return line;
}

/// Makes a pipe whose ends are no standard descriptors, which may be closed in this program.
bool make_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  for (int& end : ends) {
    const int moved = ::fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(std::exchange(end, moved));
  }
  return ends[0] >= 0 && ends[1] >= 0;
}

/// A shell starts what runs in its background, or under nohup, with some of these ignored.
void take_usual_signals() {
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2}) {
    std::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_hone(const Words& arguments) {
  std::vector<char*> words = {const_cast<char*>("hone")};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::execv(HONE_BINARY, words.data());
  ::_exit(127);
}

}  // namespace

std::vector<Json> Finished::objects() const {
  std::vector<Json> lines;
  for (size_t at = 0; at < out.size();) {
    const size_t end = std::min(out.find('\n', at), out.size());
    lines.push_back(Json::parse(out.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

Program::Program(const Words& arguments, const ProgramOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  int in[2];
  int out[2];
  int err[2];
  if (!make_pipe(in) || !make_pipe(out) || !make_pipe(err)) {
    ADD_FAILURE() << "no pipes";
    return;
  }
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves no training behind
    take_usual_signals();
    const rlimit files{options.open_files, options.open_files};
    if (options.open_files > 0) ::setrlimit(RLIMIT_NOFILE, &files);
    const rlimit space{options.address_space, options.address_space};
    if (options.address_space > 0) ::setrlimit(RLIMIT_AS, &space);
    if (!options.stdout_path.empty()) out[1] = ::open(options.stdout_path.c_str(), O_WRONLY);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    for (const int descriptor : options.closed) ::close(descriptor);
    become_hone(arguments);
  }
  close_end(in[0]);
  close_end(out[1]);
  close_end(err[1]);
  input_ = in[1];
  output_ = out[0];
  errors_ = err[0];
}

Program::~Program() {
  close_input();
  close_output();
  close_end(errors_);
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Program::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::write(input_, bytes.data(), bytes.size());
    if (put <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

void Program::close_input() { close_end(input_); }
void Program::close_output() { close_end(output_); }
void Program::signal(int number) const { ::kill(process_, number); }

bool Program::runs() const {
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT | WNOHANG);
  return ended.si_pid == 0;
}

std::string Program::read_line() { return take_line(output_, read_ahead_); }
std::string Program::read_error_line() { return take_line(errors_, errors_ahead_); }

Finished Program::finish(std::string_view input) {
  Finished finished;
  finished.out = std::exchange(read_ahead_, {});
  finished.err = std::exchange(errors_ahead_, {});
  ::fcntl(input_, F_SETFL, O_NONBLOCK);
  bool late = false;
  while ((output_ >= 0 || errors_ >= 0) && !late) {
    if (input.empty()) close_input();
    pollfd ends[3] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}, {input_, POLLOUT, 0}};
    late = ::poll(ends, 3, kPatience) <= 0;
    if (ends[0].revents != 0 && !read_some(output_, finished.out)) close_end(output_);
    if (ends[1].revents != 0 && !read_some(errors_, finished.err)) close_end(errors_);
    if (ends[2].revents != 0) {
      const ssize_t put = ::write(input_, input.data(), input.size());
      input.remove_prefix(put > 0 ? static_cast<size_t>(put) : input.size());
    }
  }
  if (late) ::kill(process_, SIGKILL);
  int status = 0;
  rusage usage{};
  ::wait4(std::exchange(process_, -1), &status, 0, &usage);
  finished.peak_kilobytes = usage.ru_maxrss;
  if (!late) finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

Finished hone(const Words& arguments, std::string_view input) {
  return Program(arguments).finish(input);
}

std::string golden(const std::string& name) { return HONE_TEST_DIR "/../models/goldens/" + name; }

Json goldens_of(const std::string& name) {
  return parse_json(read_file(golden(name) + "/goldens.json"), name);
}

Scratch::Scratch() {
  std::string pattern = (fs::temp_directory_path() / "hone-cli-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

Scratch::~Scratch() { fs::remove_all(path_); }

std::string Scratch::write(const std::string& name, std::string_view bytes) const {
  const std::string path = *this / name;
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  return path;
}

std::string Scratch::copy(const std::string& golden_name) const {
  const std::string to = *this / golden_name;
  fs::copy(golden(golden_name), to, fs::copy_options::recursive);
  return to;
}

Words Scratch::entries() const {
  Words names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

void expect_refused(const Finished& finished, const Words& parts) {
  EXPECT_EQ(finished.code, 2) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  EXPECT_TRUE(finished.err.starts_with("hone: ")) << finished.err;
  for (const std::string& part : parts) {
    EXPECT_NE(finished.err.find(part), std::string::npos) << part << " in " << finished.err;
  }
}

}  // namespace hone::cli

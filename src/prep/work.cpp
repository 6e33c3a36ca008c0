#include "prep/work.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "data/content_hash.h"

namespace hone::prep {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeat = 1s;
constexpr auto kLook = 20ms;

/// The variables by which a launcher says rank, size and which start it is.
struct Launcher {
  const char* rank;
  const char* size;
  const char* launch;
};
constexpr Launcher kLaunchers[] = {
    {"HONE_PREP_RANK", "HONE_PREP_RANKS", "HONE_PREP_LAUNCH"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"PMI_RANK", "PMI_SIZE", "PMI_ID"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
};

int number_of(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return -1;
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  return *end == '\0' && number >= 0 && number <= 1 << 20 ? static_cast<int>(number) : -1;
}

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

[[noreturn]] void fail_write(const std::string& path, const std::string& partial) {
  const std::string why = std::strerror(errno);
  remove_file(partial);
  fail(ErrorKind::io, "{}: cannot write: {}; what is complete is kept", path, why);
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Ranks ranks_of_environment() {
  for (const Launcher& launcher : kLaunchers) {
    const int rank = number_of(launcher.rank);
    const int size = number_of(launcher.size);
    if (rank < 0 || size < 1 || rank >= size) continue;
    return {rank, size, text_of(launcher.launch) + "." + text_of("SLURM_JOB_ID")};
  }
  return {};
}

void write_work_file(const std::string& path, std::string_view bytes) {
  const std::string partial = path + ".partial-" + std::to_string(::getpid());
  const int file = create_file(partial, O_TRUNC);
  if (file < 0) fail_write(path, partial);
  const bool written = write_bytes(file, partial, bytes);
  const int reason = errno;
  const bool closed = ::close(file) == 0;
  if (!written) errno = reason;
  if (!written || !closed || !rename_path(partial, path)) fail_write(path, partial);
}

std::string sealed(std::string bytes) {
  data::ContentHash hash;
  hash.bytes(bytes.data(), bytes.size());
  return bytes + data::hex(hash.value());
}

bool read_sealed(const std::string& path, std::string& bytes) {
  if (!file_exists(path)) return false;
  bytes = read_file(path, uint64_t{1} << 36);
  constexpr size_t kSeal = 32;
  if (bytes.size() < kSeal) return false;
  const std::string seal = bytes.substr(bytes.size() - kSeal);
  bytes.resize(bytes.size() - kSeal);
  data::ContentHash hash;
  hash.bytes(bytes.data(), bytes.size());
  return data::hex(hash.value()) == seal;
}

Pulse::Pulse(std::string folder, Ranks ranks, double timeout)
    : folder_(std::move(folder)),
      ranks_(std::move(ranks)),
      timeout_(timeout),
      exceptions_(std::uncaught_exceptions()) {
  if (ranks_.size > 1) thread_ = std::thread([this] { beat(); });
}

Pulse::~Pulse() {
  ended_ = true;
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (ranks_.size > 1 && std::uncaught_exceptions() > exceptions_) {
    std::ofstream(file_of("failed", ranks_.rank), std::ios::binary) << ranks_.launch;
  }
}

std::string Pulse::file_of(const char* what, int rank) const {
  return fmt::format("{}/{}-{}", folder_, what, rank);
}

void Pulse::beat() {
  for (int64_t count = 0; !ended_; ++count) {
    // A folder that is gone means that all is done: then there is nobody to tell.
    std::ofstream(file_of("alive", ranks_.rank), std::ios::binary)
        << ranks_.launch << ' ' << ::getpid() << ' ' << count;
    for (auto slept = 0ms; slept < kBeat && !ended_; slept += kLook) {
      std::this_thread::sleep_for(kLook);
    }
  }
}

void Pulse::finish() const {
  if (ranks_.size == 1) return;
  write_work_file(file_of("done", ranks_.rank), ranks_.launch);
  if (ranks_.rank != 0) return;
  wait([&] {
    for (int rank = 0; rank < ranks_.size; ++rank) {
      const std::string file = file_of("done", rank);
      if (!file_exists(file) || contents_of(file) != ranks_.launch) return false;
    }
    return true;
  });
}

void Pulse::wait(const std::function<bool()>& done) const {
  std::vector<std::string> last(static_cast<size_t>(ranks_.size));
  std::vector<Stopwatch> silent(last.size());
  Stopwatch looked;
  while (!done()) {
    std::this_thread::sleep_for(kLook);
    if (looked.seconds() < 0.5) continue;
    looked.restart();
    for (int rank = 0; rank < ranks_.size; ++rank) {
      if (rank == ranks_.rank) continue;
      if (file_exists(file_of("failed", rank)) &&
          contents_of(file_of("failed", rank)) == ranks_.launch) {
        fail(ErrorKind::failed, "rank {} failed; start again, and it goes on from there", rank);
      }
      const auto at = static_cast<size_t>(rank);
      std::string now = contents_of(file_of("alive", rank));
      if (now != last[at]) {
        last[at] = std::move(now);
        silent[at].restart();
      } else if (silent[at].seconds() > timeout_ && !done()) {
        fail(ErrorKind::failed,
             "rank {} was silent for {:.0f} s; start again, and it goes on from there", rank,
             timeout_);
      }
    }
  }
}

}  // namespace hone::prep

#include "base/mapped_window.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/page_cache.h"

namespace hone {
namespace {

constexpr uintptr_t kPage = 4096;

/// What the handler knows of a window; free where `end` is 0.
struct Entry {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> taken{false};
  std::atomic<bool> lost{false};
};
std::array<Entry, 1024> entries;
struct sigaction previous;

/// Zeros in place of the pages that cannot be read. Calls nothing that a signal handler may not.
void on_bus_error(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Entry& entry : entries) {
    const uintptr_t end = entry.end.load(std::memory_order_acquire);
    if (at < entry.begin.load(std::memory_order_relaxed) || at >= end) continue;
    entry.lost.store(true, std::memory_order_release);
    const uintptr_t page = at / kPage * kPage;
    const int kept = errno;
    void* zeros = mmap(reinterpret_cast<void*>(page), kPage, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = kept;
    if (zeros != MAP_FAILED) return;
    break;
  }
  sigaction(SIGBUS, &previous, nullptr);  // not ours: it comes again, to whoever had it before
}

void install_handler() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &previous) == 0;
  }();
  if (!installed) fail(ErrorKind::internal, "no handler of bus errors: {}", std::strerror(errno));
}

/// `offset` of the file lies on a huge page, and so does the window: not all file systems see to
/// that. MAP_FAILED and errno where it cannot be.
void* map_wide(int file, uint64_t offset, size_t bytes) {
  const auto from = static_cast<off_t>(offset);
  void* any = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, from);
  if (any == MAP_FAILED || reinterpret_cast<uintptr_t>(any) % kHugePage == 0) return any;
  munmap(any, bytes);
  void* space = map_on_huge_page(bytes, PROT_NONE);
  if (space == nullptr) return MAP_FAILED;
  void* data = mmap(space, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, from);
  if (data != MAP_FAILED) return data;
  const int reason = errno;
  munmap(space, bytes);
  errno = reason;
  return MAP_FAILED;
}

size_t take_entry() {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].taken.exchange(true)) return i;
  }
  fail(ErrorKind::internal, "more than {} mapped windows", entries.size());
}

}  // namespace

uint64_t MappedWindow::wide_bytes(uint64_t offset, uint64_t bytes) {
  return (offset + bytes + kHugePage - 1) / kHugePage * kHugePage - offset / kHugePage * kHugePage;
}

MappedWindow::MappedWindow(const InputFile& file, uint64_t offset, size_t bytes, bool wide) {
  install_handler();
  const size_t entry = take_entry();
  const uint64_t ahead = wide ? offset % kHugePage : 0;
  mapped_bytes_ = wide ? wide_bytes(offset, bytes) : (bytes + kPage - 1) / kPage * kPage;
  // Not populated at once: pages that come as they are read are in the cache then, and several
  // threads share the work (36 windows of 9.4 MB read once: 23 ms against 32).
  void* mapped = wide ? map_wide(file.descriptor(), offset - ahead, mapped_bytes_)
                      : mmap(nullptr, mapped_bytes_, PROT_READ, MAP_SHARED, file.descriptor(),
                             static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    const int reason = errno;
    entries[entry].taken = false;
    fail(ErrorKind::io, "{}: cannot map {} bytes at byte {}: {}", file.path(), bytes, offset,
         std::strerror(reason));
  }
  mapped_ = mapped;
  data_ = static_cast<const std::byte*>(mapped) + ahead;
  entry_ = entry;
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  entries[entry].lost.store(false, std::memory_order_relaxed);
  entries[entry].begin.store(begin, std::memory_order_relaxed);
  entries[entry].end.store(begin + mapped_bytes_, std::memory_order_release);
}

MappedWindow::~MappedWindow() {
  if (!mapped_) return;
  entries[entry_].end.store(0, std::memory_order_release);
  munmap(mapped_, mapped_bytes_);
  entries[entry_].taken = false;
}

MappedWindow::MappedWindow(MappedWindow&& other) noexcept { *this = std::move(other); }

MappedWindow& MappedWindow::operator=(MappedWindow&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  std::swap(entry_, other.entry_);
  return *this;
}

void MappedWindow::foresee(bool on) const {
  madvise(mapped_, mapped_bytes_, on ? MADV_NORMAL : MADV_RANDOM);
}

bool MappedWindow::lost() const { return mapped_ && entries[entry_].lost.load(); }

}  // namespace hone

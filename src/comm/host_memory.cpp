#include "comm/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "comm/futex.h"
#include "comm/run_failed.h"

namespace hone::comm {
namespace {

constexpr uint64_t kMagic = 0x31306d6d6f63656e;
constexpr size_t kPage = 4096;
// Windows of one size do not begin at the same place of a page: processors take addresses that
// agree in their last twelve bits for one another.
constexpr size_t kSkew = 5 * 64;
constexpr std::chrono::milliseconds kNap{100};

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

void* map_part(int descriptor, size_t offset, size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                    static_cast<off_t>(offset));
  if (at == MAP_FAILED) {
    fail(ErrorKind::memory, "cannot share {} bytes between ranks: {}", bytes, std::strerror(errno));
  }
  return at;
}

void grow_file(int descriptor, size_t bytes) {
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0) return;
  fail(ErrorKind::memory, "cannot share {} bytes between ranks: {}", bytes, std::strerror(errno));
}

/// A waiting rank looks so often before it sleeps; a microsecond is about fifty looks.
constexpr int kLooks = 2000;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct HostMemory::Header {
  static constexpr size_t kLongestReason = 1000;
  static constexpr int32_t kElsewhere = -1;  ///< is no rank of this host: another has told
  static constexpr int32_t kRank0 = -2;      ///< is no rank of this host: rank 0 is to tell

  uint64_t magic = kMagic;
  int32_t ranks = 0;
  int64_t created = 0;
  std::atomic<uint32_t> failed{0};  ///< 1: the reason is being written; 2: it can be read
  int32_t teller = kElsewhere;      ///< the rank of this host that tells the user
  std::array<char, kLongestReason + 1> reason{};

  Slot* slots() { return reinterpret_cast<Slot*>(reinterpret_cast<char*>(this) + kPage); }
  static size_t bytes(int ranks) {
    return kPage + round_up(static_cast<size_t>(ranks) * sizeof(Slot), kPage);
  }
};

std::string name_of(int rank, const std::string& host) {
  return fmt::format("rank {} on {}", rank, host);
}

int HostMemory::create(int ranks) {
  const int descriptor = ::memfd_create("hone-ranks", MFD_CLOEXEC);
  if (descriptor < 0) {
    fail(ErrorKind::memory, "cannot share memory between ranks: {}", std::strerror(errno));
  }
  const size_t bytes = Header::bytes(ranks);
  grow_file(descriptor, bytes);
  auto* header = new (map_part(descriptor, 0, bytes)) Header;
  header->ranks = ranks;
  header->created = host_clock();
  for (int i = 0; i < ranks; ++i) new (header->slots() + i) Slot;
  ::munmap(header, bytes);
  return descriptor;
}

HostMemory::HostMemory(int descriptor, int index, std::vector<int> ranks, std::string host)
    : index_(index), ranks_(std::move(ranks)), host_(std::move(host)) {
  static_assert(sizeof(Header) <= kPage && std::atomic<uint32_t>::is_always_lock_free &&
                std::atomic<int64_t>::is_always_lock_free);
  header_bytes_ = Header::bytes(size());
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || static_cast<size_t>(status.st_size) < header_bytes_) {
    fail(ErrorKind::internal, "the memory that ranks share cannot be opened");
  }
  descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  header_ = static_cast<Header*>(map_part(descriptor_, 0, header_bytes_));
  if (header_->magic != kMagic || header_->ranks != size()) {
    fail(ErrorKind::internal, "the memory that ranks share is that of another run");
  }
  used_ = header_bytes_;
  slot(index_).beat = host_clock();
  slot(index_).process = ::getpid();
}

HostMemory::~HostMemory() {
  for (const Window& window : windows_) {
    ::munmap(window.base, window.stride * ranks_.size());
  }
  ::munmap(header_, header_bytes_);
  ::close(descriptor_);
}

HostMemory::Slot& HostMemory::slot(int index) const { return header_->slots()[index]; }

int64_t HostMemory::created() const { return header_->created; }

Collective HostMemory::announced(int index) const {
  return slot(index).announced[slot(index_).latest.load(std::memory_order_relaxed)].load();
}

Collective HostMemory::last_of(int index) const {
  const Slot& of = slot(index);
  return of.announced[of.latest.load(std::memory_order_relaxed) & 1].load();
}

void HostMemory::meet(const Collective& collective) {
  check();
  Slot& own = slot(index_);
  const uint32_t turn = static_cast<uint32_t>(collective.number) & 1;
  own.announced[turn].store(collective);
  own.latest.store(turn, std::memory_order_relaxed);
  meet();
  compare(collective);
}

void HostMemory::compare(const Collective& own) {
  for (int i = 0; i < size(); ++i) {
    const Collective other = announced(i);
    if (match(own, other)) continue;
    const int low = std::min(i, index_);
    const int high = std::max(i, index_);
    fail_run(fmt::format("ranks have come apart: {} is at {}, {} at {}",
                         name_of(rank_of(low), host_), describe(announced(low)),
                         name_of(rank_of(high), host_), describe(announced(high))));
  }
}

void HostMemory::meet() {
  ++meeting_;
  slot(index_).arrived.store(meeting_);
  if (slot(index_).waiters.load() != 0) wake(index_);
  for (int i = 0; i < size(); ++i) {
    if (i != index_) wait_for(i, meeting_);
  }
}

void HostMemory::wait_for(int index, uint32_t meeting) {
  Slot& other = slot(index);
  const auto is_here = [&](uint32_t arrived) {
    return static_cast<int32_t>(arrived - meeting) >= 0;
  };
  for (int i = 0; i < kLooks; ++i) {
    if (is_here(other.arrived.load(std::memory_order_acquire))) return;
    pause_briefly();
  }
  for (;;) {
    ++other.waiters;
    const uint32_t seen = other.arrived.load();
    const bool waits = !is_here(seen) && other.left.load() == 0 && header_->failed.load() != 2;
    if (waits) futex_wait(other.arrived, seen, kNap);
    --other.waiters;
    if (is_here(other.arrived.load())) return;
    check();
    if (other.left.load() != 0 && !is_here(other.arrived.load())) {
      fail_run(fmt::format("ranks have come apart: {} has ended behind {}, {} is at {}",
                           name_of(rank_of(index), host_), describe(last_of(index)),
                           name_of(rank_of(index_), host_), describe(last_of(index_))));
    }
  }
}

void HostMemory::wake(int index) const { futex_wake_all(slot(index).arrived); }

const HostMemory::Window& HostMemory::add_window(size_t bytes) {
  const size_t stride = round_up(std::max<size_t>(bytes, 1), kPage) + kSkew;
  const size_t total = round_up(stride * ranks_.size(), kPage);
  if (index_ == 0) grow_file(descriptor_, used_ + total);
  meet();
  Window window{static_cast<char*>(map_part(descriptor_, used_, total)), stride, bytes};
  used_ += total;
  windows_.push_back(window);
  return windows_.back();
}

int64_t HostMemory::place_of(const void* data, size_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(data);
  size_t before = 0;
  for (const Window& window : windows_) {
    const auto begin =
        reinterpret_cast<uintptr_t>(window.base) + window.stride * static_cast<size_t>(index_);
    if (address >= begin && address + bytes <= begin + window.bytes) {
      return static_cast<int64_t>(before + (address - begin));
    }
    before += window.stride;
  }
  return -1;
}

void* HostMemory::at(int64_t place, int index) const {
  auto left = static_cast<size_t>(place);
  for (const Window& window : windows_) {
    if (left < window.stride)
      return window.base + window.stride * static_cast<size_t>(index) + left;
    left -= window.stride;
  }
  fail(ErrorKind::internal, "no window holds place {}", place);
}

bool HostMemory::fail_all(const std::string& why, Teller teller) {
  uint32_t none = 0;
  if (!header_->failed.compare_exchange_strong(none, 1)) return false;
  const size_t length = std::min(why.size(), Header::kLongestReason);
  std::memcpy(header_->reason.data(), why.data(), length);
  switch (teller) {
    case Teller::here:
      header_->teller = index_;
      break;
    case Teller::elsewhere:
      header_->teller = Header::kElsewhere;
      break;
    case Teller::rank_0:
      header_->teller = rank_of(0) == 0 ? 0 : Header::kRank0;
      break;
  }
  header_->failed.store(2);
  for (int i = 0; i < size(); ++i) wake(i);
  return true;
}

std::string HostMemory::failure() const {
  return header_->failed.load() == 2 ? std::string(header_->reason.data()) : std::string();
}

bool HostMemory::told_here() const {
  return header_->failed.load() == 2 && header_->teller == index_;
}

bool HostMemory::left_to_rank_0() const {
  return header_->failed.load() == 2 && header_->teller == Header::kRank0;
}

void HostMemory::check() const {
  if (header_->failed.load() == 2) throw RunFailed(failure(), told_here());
}

void HostMemory::fail_run(const std::string& why, Teller teller) {
  fail_all(why, teller);
  for (int i = 0; i < 1000; ++i) {
    check();
    futex_wait(header_->failed, 1, std::chrono::milliseconds(1));
  }
  throw RunFailed(why, true);  // whoever was to say why has died meanwhile
}

void HostMemory::leave() {
  slot(index_).left.store(1);
  wake(index_);
}

}  // namespace hone::comm

#include "comm/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "comm/futex.h"

namespace hone::comm {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMillisecond;
/// A process has so long to end by itself after the run has failed.
constexpr int64_t kGrace = 2 * kSecond;

int open_process(int process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }

}  // namespace

Watch::Watch(HostMemory& host, WatchOptions options)
    : host_(host),
      options_(std::move(options)),
      interval_(std::clamp(static_cast<int64_t>(options_.timeout * 1e9) / 20, 5 * kMillisecond,
                           250 * kMillisecond)),
      since_(host_clock()),
      wake_(::eventfd(0, EFD_CLOEXEC)) {
  for (int i = 0; i < host_.size(); ++i) {
    if (i != host_.index()) peers_.push_back({.index = i, .process = -1});
  }
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  stop_ = true;
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
  for (const Peer& peer : peers_) {
    if (peer.process >= 0) ::close(peer.process);
  }
}

void Watch::run() {
  int64_t last = host_clock();
  while (!stop_) {
    const int64_t now = host_clock();
    // A thread that slept much longer than it meant to was stopped itself, as a scheduler does to
    // all ranks of a job: the others get their time anew.
    if (now - last > 4 * interval_ + kSecond) since_ = now;
    last = now;
    host_.slot(host_.index()).beat.store(now, std::memory_order_relaxed);
    if (options_.on_beat) options_.on_beat();
    check(now);
    insist(now);
    sleep();
  }
}

void Watch::check(int64_t now) {
  if (!host_.failure().empty()) return;
  for (Peer& peer : peers_) {
    if (peer.watched) check_peer(peer, now);
  }
}

void Watch::check_peer(Peer& peer, int64_t now) {
  const HostMemory::Slot& slot = host_.slot(peer.index);
  const int process = slot.process.load();
  if (slot.left.load() != 0 || process == ::getpid()) {
    peer.watched = false;
    return;
  }
  if (process != 0 && peer.process < 0) {
    peer.process = open_process(process);
    if (peer.process < 0 && errno == ESRCH && slot.left.load() == 0) return lose(peer, "has ended");
  }
  if (peer.process >= 0) {
    pollfd ended{peer.process, POLLIN, 0};
    if (::poll(&ended, 1, 0) > 0 && slot.left.load() == 0) return lose(peer, "has ended");
  }
  const int64_t seen = std::max({slot.beat.load(), host_.created(), since_});
  const double silent = 1e-9 * static_cast<double>(now - seen);
  if (silent <= options_.timeout) return;
  if (process == 0) return lose(peer, fmt::format("has not come for {:.1f} s", silent));
  lose(peer, fmt::format("has been silent for {:.1f} s", silent));
  ::kill(process, SIGKILL);  // a process that is stopped would stay for ever
}

void Watch::lose(const Peer& peer, const std::string& what) {
  host_.fail_all(fmt::format("{} {}; it was last seen at {}",
                             name_of(host_.rank_of(peer.index), host_.host()), what,
                             describe(host_.last_of(peer.index))));
}

void Watch::insist(int64_t now) {
  const std::string why = host_.failure();
  if (why.empty() || insisted_) return;
  if (failed_at_ == 0) failed_at_ = now;
  if (now - failed_at_ < kGrace) return;
  insisted_ = true;
  if (options_.on_lost) options_.on_lost(why, host_.told_here());
}

void Watch::sleep() {
  std::vector<pollfd> waited = {{wake_, POLLIN, 0}};
  if (host_.failure().empty()) {
    for (const Peer& peer : peers_) {
      if (peer.watched && peer.process >= 0) waited.push_back({peer.process, POLLIN, 0});
    }
  }
  ::poll(waited.data(), waited.size(), static_cast<int>(interval_ / kMillisecond));
}

}  // namespace hone::comm

#include "comm/host_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "comm/futex.h"

namespace hone::comm {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr size_t kLongestBody = 2000;
/// What a peer does not take is not kept for ever.
constexpr size_t kMostUnsent = 1 << 16;

/// A failure that is left to rank 0 has not been told to the user.
enum class Message : char { beat = 'B', failure = 'F', untold_failure = 'U', farewell = 'L' };

std::string message_of(Message kind, std::string_view body) {
  const auto length = static_cast<uint32_t>(std::min(body.size(), kLongestBody));
  std::string bytes(1, static_cast<char>(kind));
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(body.substr(0, length));
}

}  // namespace

HostWatch::HostWatch(HostMemory& host, const Places& places, std::optional<Listener> listener,
                     const Address& center, double timeout)
    : host_(host),
      timeout_(timeout),
      interval_(std::clamp(static_cast<int64_t>(timeout * 1e9) / 20, 5 * kMs, 250 * kMs)) {
  if (listener) {
    let_in(places, *listener);
  } else {
    go_to(places, center);
  }
  since_ = host_clock();
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { run(); });
}

void HostWatch::let_in(const Places& places, Listener& listener) {
  const std::vector<int> leaders = places.leaders();
  std::vector<Guest> guests(leaders.size());
  const Stopwatch watch;
  const auto missing = [&] {
    return std::find_if(guests.begin() + 1, guests.end(),
                        [](const Guest& each) { return !each.socket.open(); });
  };
  while (missing() != guests.end()) {
    Guest guest = listener.accept(start_time(timeout_) - watch.seconds());
    if (!guest.socket.open()) {
      const int rank = leaders[static_cast<size_t>(missing() - guests.begin())];
      host_.fail_run(fmt::format("{} has not come for {:.1f} s",
                                 name_of(rank, places.hosts[static_cast<size_t>(rank)]),
                                 watch.seconds()));
    }
    size_t which = 0;
    std::from_chars(guest.text.data(), guest.text.data() + guest.text.size(), which);
    if (which > 0 && which < guests.size()) guests[which] = std::move(guest);
  }
  for (size_t i = 1; i < guests.size(); ++i) {
    const int rank = leaders[i];
    peers_.push_back({.name = name_of(rank, places.hosts[static_cast<size_t>(rank)]),
                      .socket = std::move(guests[i].socket),
                      .in = std::move(guests[i].rest)});
  }
}

void HostWatch::go_to(const Places& places, const Address& center) {
  Socket socket = connect_to(center, std::to_string(places.group), start_time(timeout_));
  const std::string name = name_of(0, places.hosts[0]);
  if (!socket.open()) {
    host_.fail_run(fmt::format("{} cannot be reached from {} at port {} of {}", name, host_.host(),
                               center.port, center.hosts.front()));
  }
  peers_.push_back({.name = name, .socket = std::move(socket)});
}

HostWatch::~HostWatch() {
  stop_ = true;
  ::eventfd_write(wake_, 1);
  thread_.join();
  say_farewell();
  ::close(wake_);
}

void HostWatch::say_farewell() {
  if (host_.failure().empty()) {
    for (Peer& peer : peers_) peer.out += message_of(Message::farewell, {});
  } else {
    tell_failure();
  }
  constexpr int kLingering = 200;  // milliseconds for the last words to be taken
  for (Peer& peer : peers_) {
    if (!peer.socket.open() || !peer.socket.send_some(peer.out)) continue;
    ::shutdown(peer.socket.descriptor(), SHUT_WR);
    // Closing while something is unread would take the last words back.
    std::string ignored;
    pollfd waited{peer.socket.descriptor(), POLLIN, 0};
    while (!peer.left && ::poll(&waited, 1, kLingering) > 0 && peer.socket.read_some(ignored)) {
    }
  }
}

void HostWatch::run() {
  int64_t last = host_clock();
  int64_t beaten = 0;
  while (!stop_) {
    const int64_t now = host_clock();
    if (now - last > 4 * interval_ + 1000 * kMs) since_ = now;  // this process was stopped itself
    last = now;
    if (now - beaten >= interval_ / 2) {
      beat();
      beaten = now;
    }
    if (!host_.failure().empty()) tell_failure();
    for (Peer& peer : peers_) listen(peer, now);
    sleep();
  }
}

void HostWatch::beat() {
  const Collective at = host_.last_of(host_.index());
  const std::string body(reinterpret_cast<const char*>(&at), sizeof at);
  for (Peer& peer : peers_) {
    if (peer.out.size() < kMostUnsent) peer.out += message_of(Message::beat, body);
  }
}

void HostWatch::tell_failure() {
  if (told_) return;
  told_ = true;
  const Message kind = host_.left_to_rank_0() ? Message::untold_failure : Message::failure;
  for (Peer& peer : peers_) peer.out += message_of(kind, host_.failure());
}

void HostWatch::listen(Peer& peer, int64_t now) {
  if (!peer.socket.open()) return;
  bool open = peer.socket.read_some(peer.in);
  take_messages(peer, now);
  open = open && peer.socket.send_some(peer.out);
  if (!open) peer.socket = Socket();
  if (peer.left) return;
  const auto lose = [&](const std::string& what) {
    if (!host_.failure().empty()) return;
    // Signs of life come from time to time: this rank may know better where the other one was.
    const Collective own = host_.last_of(host_.index());
    host_.fail_all(fmt::format("{} {}; it was last seen at {}", peer.name, what,
                               describe(own.number > peer.last.number ? own : peer.last)));
  };
  if (!open) return lose("has ended");
  const double silent = 1e-9 * static_cast<double>(now - std::max(peer.heard, since_));
  if (silent > timeout_) lose(fmt::format("has been silent for {:.1f} s", silent));
}

void HostWatch::take_messages(Peer& peer, int64_t now) {
  constexpr size_t kHead = 1 + sizeof(uint32_t);
  while (peer.in.size() >= kHead) {
    uint32_t length = 0;
    std::memcpy(&length, peer.in.data() + 1, sizeof length);
    length = std::min<uint32_t>(length, kLongestBody);
    if (peer.in.size() < kHead + length) return;
    const auto kind = static_cast<Message>(peer.in[0]);
    const std::string body = peer.in.substr(kHead, length);
    peer.in.erase(0, kHead + length);
    peer.heard = now;
    if (kind == Message::beat && body.size() == sizeof(Collective)) {
      std::memcpy(&peer.last, body.data(), sizeof(Collective));
    } else if (kind == Message::failure) {
      host_.fail_all(body, HostMemory::Teller::elsewhere);
    } else if (kind == Message::untold_failure) {
      host_.fail_all(body, HostMemory::Teller::rank_0);
    } else if (kind == Message::farewell) {
      peer.left = true;
    }
  }
}

void HostWatch::sleep() {
  std::vector<pollfd> waited = {{wake_, POLLIN, 0}};
  for (const Peer& peer : peers_) {
    if (peer.socket.open()) waited.push_back({peer.socket.descriptor(), POLLIN, 0});
  }
  // A failure of this host is looked for at least so often.
  constexpr int64_t kLongestSleep = 50;
  ::poll(waited.data(), waited.size(),
         static_cast<int>(std::min(interval_ / kMs / 2, kLongestSleep)));
}

}  // namespace hone::comm

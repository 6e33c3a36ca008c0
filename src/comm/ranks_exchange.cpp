#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "comm/descriptor.h"
#include "comm/exchange.h"
#include "comm/host_memory.h"
#include "comm/host_name.h"
#include "comm/host_watch.h"
#include "comm/last_words.h"
#include "comm/leaders.h"
#include "comm/places.h"
#include "comm/tree_sum.h"

namespace hone::comm {
namespace {

/// What does not lie in a window goes through this much of each rank's memory at one time.
constexpr int64_t kStage = 1 << 20;

/// The part of `count` elements that a rank of a host sums: whole cache lines.
template <typename T>
std::pair<int64_t, int64_t> part_of(int64_t count, int index, int size) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t lines = (count + kLine - 1) / kLine;
  return {std::min(count, lines * index / size * kLine),
          std::min(count, lines * (index + 1) / size * kLine)};
}

/// Appends the text with its length before it.
void pack(std::string& into, std::string_view text) {
  const uint64_t length = text.size();
  into.append(reinterpret_cast<const char*>(&length), sizeof length);
  into += text;
}

/// Takes the first text off what pack() made.
std::string_view unpack(std::string_view& from) {
  uint64_t length = 0;
  std::memcpy(&length, from.data(), sizeof length);
  const std::string_view text = from.substr(sizeof length, length);
  from.remove_prefix(sizeof length + text.size());
  return text;
}

/// Ranks that share memory where they share a host; the first of each host speaks with the others.
class RanksExchange : public Exchange {
 public:
  /// How a rank finds the others of its host, and how hosts find each other.
  struct Meeting {
    int memory = -1;
    std::unique_ptr<Link> link = nullptr;
    std::optional<Listener> listener = {};
    Address center = {};
  };

  RanksExchange(Meeting meeting, Places places, const WatchOptions& options)
      : places_(std::move(places)),
        link_(std::move(meeting.link)),
        host_(meeting.memory, places_.index, places_.neighbours(),
              places_.hosts[static_cast<size_t>(places_.rank)]),
        several_hosts_(places_.groups.size() > 1) {
    if (several_hosts_ && places_.index == 0) {
      leaders_.emplace(*link_, places_.leaders(), places_.group, [this] { host_.check(); });
    }
    watch_.emplace(host_, options);
    if (leaders_) {
      host_watch_.emplace(host_, places_, std::move(meeting.listener), meeting.center,
                          options.timeout);
    }
    if (link_ && options.on_lost) {
      last_words_.emplace([this, on_lost = options.on_lost] { end_with_reason(on_lost); });
    }
    stage_ = host_.add_window(kStage);
  }

  int rank() const override { return places_.rank; }
  const std::vector<std::string>& hosts() const override { return places_.hosts; }
  int rank_of_host() const override { return host_.index(); }
  int ranks_of_host() const override { return host_.size(); }
  int64_t place_of(const void* data, size_t bytes) const override {
    return host_.place_of(data, bytes);
  }

  void meet(const Collective& collective) override {
    host_.meet(collective);
    between_hosts([&] { compare(collective); });
  }

  void* window(const Collective& collective) override {
    const HostMemory::Window& window = host_.add_window(static_cast<size_t>(collective.bytes));
    return window.base + window.stride * static_cast<size_t>(host_.index());
  }

  void sum(const Collective& collective, void* data) override {
    if (collective.kind == Kind::sum_floats) {
      sum_of<float>(collective, static_cast<float*>(data));
    } else {
      sum_of<double>(collective, static_cast<double*>(data));
    }
  }

  void gather(const Collective& /*collective*/, std::string_view own,
              std::vector<std::string>& all) override {
    std::vector<std::string> here = gather_here(own);
    if (!several_hosts_) {
      all = std::move(here);
      return;
    }
    std::string everything;
    if (leaders_) {
      std::string packed;
      for (const std::string& each : here) pack(packed, each);
      for (const std::string& each : leaders_->gather(packed)) everything += each;
    }
    give_here(everything);
    std::string_view left = everything;
    all.resize(places_.hosts.size());
    for (const std::vector<int>& group : places_.groups) {
      for (const int each : group) all[static_cast<size_t>(each)] = unpack(left);
    }
  }

  void broadcast(const Collective& collective, void* data) override {
    const int group = places_.group_of(collective.root);
    const std::vector<int>& ranks = places_.groups[static_cast<size_t>(group)];
    const auto index = std::find(ranks.begin(), ranks.end(), collective.root) - ranks.begin();
    const auto bytes = static_cast<size_t>(collective.bytes);
    if (group == places_.group) give_here(data, bytes, static_cast<int>(index));
    if (leaders_) leaders_->broadcast(data, bytes, group);
    if (group != places_.group) give_here(data, bytes, 0);
  }

  bool stop_all(const std::string& why, bool found_by_others) override {
    using Teller = HostMemory::Teller;
    return host_.fail_all(why, found_by_others ? Teller::rank_0 : Teller::here);
  }
  void fail_run(const std::string& why) override {
    host_.fail_run(why, HostMemory::Teller::rank_0);
  }
  std::string failure() const override { return host_.failure(); }
  bool told_here() const override { return host_.told_here(); }
  void check() const override { host_.check(); }
  void leave() override {
    if (link_ && host_.failure().empty()) link_->close();
    host_.leave();
  }

 private:
  char* stage(int index) const { return stage_.base + stage_.stride * static_cast<size_t>(index); }

  /// Ends a process that MPI's runtime is ending, with the reason where it is known in time.
  void end_with_reason(const std::function<void(const std::string&, bool)>& on_lost) const {
    constexpr int kLooks = 150;
    for (int i = 0; i < kLooks && host_.failure().empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    // A caller that waits in a collective tells the user itself.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (!host_.failure().empty()) on_lost(host_.failure(), host_.told_here());
  }

  /// Lets the leader speak with other hosts while the other ranks of this host wait.
  template <typename Body>
  void between_hosts(const Body& body) {
    if (!several_hosts_) return;
    if (leaders_) body();
    host_.meet();
  }

  void compare(const Collective& own) {
    static_assert(sizeof(Collective) == 40);  // so there are no bytes without a meaning
    const std::string packed(reinterpret_cast<const char*>(&own), sizeof own);
    const std::vector<std::string> all = leaders_->exchange(packed);
    const std::vector<int> ranks = places_.leaders();
    const auto at = [&](size_t i, const Collective& collective) {
      const int rank = ranks[i];
      return name_of(rank, places_.hosts[static_cast<size_t>(rank)]) + " is at " +
             describe(collective);
    };
    Collective first;
    std::memcpy(&first, all[0].data(), sizeof first);
    for (size_t i = 1; i < all.size(); ++i) {
      Collective other;
      std::memcpy(&other, all[i].data(), sizeof other);
      if (match(first, other)) continue;
      fail_run("ranks have come apart: " + at(0, first) + ", " + at(i, other));
    }
  }

  std::vector<std::string> gather_here(std::string_view own) {
    std::vector<std::string> all(static_cast<size_t>(host_.size()));
    int64_t longest = 0;
    for (int i = 0; i < host_.size(); ++i) {
      const int64_t bytes = host_.announced(i).bytes;
      longest = std::max(longest, bytes);
      all[static_cast<size_t>(i)].resize(static_cast<size_t>(bytes));
    }
    for (int64_t at = 0; at < longest; at += kStage) {
      const auto begin = std::min(static_cast<size_t>(at), own.size());
      const std::string_view part = own.substr(begin, kStage);
      if (!part.empty()) std::memcpy(stage(host_.index()), part.data(), part.size());
      host_.meet();
      for (int i = 0; i < host_.size(); ++i) {
        std::string& into = all[static_cast<size_t>(i)];
        const auto from = std::min(static_cast<size_t>(at), into.size());
        std::memcpy(into.data() + from, stage(i), std::min<size_t>(kStage, into.size() - from));
      }
      host_.meet();
    }
    return all;
  }

  /// Sets data on all ranks of this host to that of one of them.
  void give_here(void* data, size_t bytes, int from) {
    const bool gives = from == host_.index();
    for (size_t at = 0; at < bytes && host_.size() > 1; at += kStage) {
      const size_t length = std::min<size_t>(kStage, bytes - at);
      char* here = static_cast<char*>(data) + at;
      if (gives) std::memcpy(stage(from), here, length);
      host_.meet();
      if (!gives) std::memcpy(here, stage(from), length);
      host_.meet();
    }
  }

  /// Sets text on all ranks of this host to that of the first.
  void give_here(std::string& text) {
    uint64_t length = text.size();
    give_here(&length, sizeof length, 0);
    text.resize(length);
    give_here(text.data(), length, 0);
  }

  /// Sums what the ranks have at `all`, into all of these places.
  template <typename T>
  void sum_at(const std::vector<T*>& all, int64_t count) {
    const auto [begin, end] = part_of<T>(count, host_.index(), host_.size());
    if (!several_hosts_) {
      tree_sum_to_all<T>(all.data(), all.data(), host_.size(), begin, end);
      return host_.meet();
    }
    for (int64_t at = begin; at < end && host_.size() > 1; at += kSumBlock) {
      tree_sum(all.data(), host_.size(), at, std::min(kSumBlock, end - at), all[0] + at);
    }
    host_.meet();
    between_hosts([&] { leaders_->sum(all[0], count); });
    if (host_.size() == 1) return;
    if (host_.index() != 0) {
      std::memcpy(all[static_cast<size_t>(host_.index())], all[0],
                  static_cast<size_t>(count) * sizeof(T));
    }
    host_.meet();  // the first rank may change its own again
  }

  template <typename T>
  void sum_of(const Collective& collective, T* data) {
    const int64_t count = collective.bytes / static_cast<int64_t>(sizeof(T));
    std::vector<T*> all(static_cast<size_t>(host_.size()));
    const auto find = [&](auto place) {
      for (int i = 0; i < host_.size(); ++i) {
        all[static_cast<size_t>(i)] = reinterpret_cast<T*>(place(i));
      }
    };
    if (collective.place >= 0) {
      find([&](int i) { return host_.at(collective.place, i); });
      return sum_at(all, count);
    }
    find([&](int i) { return stage(i); });
    constexpr int64_t kElements = kStage / sizeof(T);
    for (int64_t at = 0; at < count; at += kElements) {
      const int64_t length = std::min(kElements, count - at);
      const auto bytes = static_cast<size_t>(length) * sizeof(T);
      std::memcpy(stage(host_.index()), data + at, bytes);
      host_.meet();
      sum_at(all, length);
      std::memcpy(data + at, stage(host_.index()), bytes);
    }
  }

  Places places_;
  std::unique_ptr<Link> link_;
  HostMemory host_;
  const bool several_hosts_;
  std::optional<Leaders> leaders_;  ///< lives on the first rank of each of several hosts
  std::optional<Watch> watch_;
  std::optional<HostWatch> host_watch_;
  HostMemory::Window stage_;
  std::optional<LastWords> last_words_;
};

}  // namespace

std::unique_ptr<Exchange> make_host_exchange(int memory, int rank, int size,
                                             const WatchOptions& options) {
  Places places;
  places.rank = places.index = rank;
  places.hosts.assign(static_cast<size_t>(size), host_name());
  places.groups.emplace_back(static_cast<size_t>(size));
  std::iota(places.groups[0].begin(), places.groups[0].end(), 0);
  return std::make_unique<RanksExchange>(RanksExchange::Meeting{.memory = memory},
                                         std::move(places), options);
}

std::unique_ptr<Exchange> make_link_exchange(std::unique_ptr<Link> link, const Origin& origin,
                                             const WatchOptions& options, bool loopback) {
  Places places = find_places(*link, origin, options.timeout);
  RanksExchange::Meeting meeting;
  Json own = Json::object();
  std::optional<Descriptor> memory;
  if (places.index == 0) {
    memory.emplace(HostMemory::create(static_cast<int>(places.neighbours().size())));
    own["memory"] = fmt::format("/proc/{}/fd/{}", ::getpid(), memory->number());
  }
  if (places.rank == 0 && places.groups.size() > 1) {
    meeting.listener.emplace(loopback);
    const Address& address = meeting.listener->address();
    own["listens"] = {address.hosts, address.port, address.secret};
  }
  const std::vector<std::string> all = gather_over(*link, own.dump(), options.timeout);
  if (places.index != 0) {
    const int leader = places.neighbours().front();
    const std::string path =
        parse_json(all[static_cast<size_t>(leader)], "the leader").at("memory");
    memory.emplace(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (memory->number() < 0) {
      fail(ErrorKind::unsupported, "rank {} on {} cannot share memory with rank {}: {}: {}",
           places.rank, origin.host, leader, path, std::strerror(errno));
    }
  }
  if (places.groups.size() > 1) {
    const Json listens = parse_json(all[0], "rank 0").at("listens");
    meeting.center = {listens.at(0), listens.at(1), listens.at(2)};
  }
  meeting.memory = memory->number();
  meeting.link = std::move(link);
  auto exchange = std::make_unique<RanksExchange>(std::move(meeting), std::move(places), options);
  return exchange;
}

}  // namespace hone::comm

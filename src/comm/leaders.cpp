#include "comm/leaders.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "comm/tree_sum.h"

namespace hone::comm {
namespace {

/// Messages are looked for so often before the thread begins to sleep in between, which leaves the
/// core to whoever computes.
constexpr int kEagerLooks = 200;
constexpr std::chrono::microseconds kShortNap{20};

/// Where the part of a host begins, of `count` elements.
int64_t part_begin(int64_t count, int host, int hosts) { return count * host / hosts; }

}  // namespace

Leaders::Leaders(Link& link, std::vector<int> ranks, int own, std::function<void()> check)
    : link_(link),
      ranks_(std::move(ranks)),
      own_(own),
      check_(std::move(check)),
      received_(ranks_.size()) {}

void Leaders::send(int host, const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  for (size_t at = 0; at < bytes; at += kLongestMessage) {
    under_way_.push_back(link_.send(ranks_[static_cast<size_t>(host)], from + at,
                                    std::min(kLongestMessage, bytes - at)));
  }
}

void Leaders::receive(int host, void* data, size_t bytes) {
  auto* to = static_cast<char*>(data);
  for (size_t at = 0; at < bytes; at += kLongestMessage) {
    under_way_.push_back(link_.receive(ranks_[static_cast<size_t>(host)], to + at,
                                       std::min(kLongestMessage, bytes - at)));
  }
}

void Leaders::wait() {
  int looks = 0;
  while (!under_way_.empty()) {
    const size_t before = under_way_.size();
    std::erase_if(under_way_, [&](Link::Request each) { return link_.finished(each); });
    if (under_way_.size() < before) {
      looks = 0;
      continue;
    }
    if (++looks < kEagerLooks) continue;
    check_();
    std::this_thread::sleep_for(kShortNap);
  }
}

std::vector<std::string> Leaders::exchange(const std::string& own) {
  std::vector<std::string> all(ranks_.size(), std::string(own.size(), '\0'));
  all[static_cast<size_t>(own_)] = own;
  for (int host = 0; host < size(); ++host) {
    if (host == own_) continue;
    receive(host, all[static_cast<size_t>(host)].data(), own.size());
    send(host, own.data(), own.size());
  }
  wait();
  return all;
}

std::vector<std::string> Leaders::gather(const std::string& own) {
  uint64_t bytes = own.size();
  std::string packed(sizeof bytes, '\0');
  std::memcpy(packed.data(), &bytes, sizeof bytes);
  const std::vector<std::string> sizes = exchange(packed);
  std::vector<std::string> all(ranks_.size());
  for (int host = 0; host < size(); ++host) {
    std::string& each = all[static_cast<size_t>(host)];
    if (host == own_) {
      each = own;
      continue;
    }
    std::memcpy(&bytes, sizes[static_cast<size_t>(host)].data(), sizeof bytes);
    each.resize(bytes);
    receive(host, each.data(), each.size());
    send(host, own.data(), own.size());
  }
  wait();
  return all;
}

void Leaders::broadcast(void* data, size_t bytes, int root) {
  if (root != own_) {
    receive(root, data, bytes);
    return wait();
  }
  for (int host = 0; host < size(); ++host) {
    if (host != own_) send(host, data, bytes);
  }
  wait();
}

template <typename T>
void Leaders::sum(T* data, int64_t count) {
  const int64_t chunk = static_cast<int64_t>(kLongestMessage / sizeof(T)) * size();
  for (int64_t at = 0; at < count; at += chunk) sum_chunk(data + at, std::min(chunk, count - at));
}

template <typename T>
void Leaders::sum_chunk(T* data, int64_t count) {
  const auto begin = [&](int host) { return part_begin(count, host, size()); };
  const auto bytes = [&](int host) {
    return static_cast<size_t>(begin(host + 1) - begin(host)) * sizeof(T);
  };
  std::vector<const T*> parts(ranks_.size());
  for (int host = 0; host < size(); ++host) {
    if (host == own_) {
      parts[static_cast<size_t>(host)] = data + begin(own_);
      continue;
    }
    std::vector<char>& into = received_[static_cast<size_t>(host)];
    if (into.size() < bytes(own_)) into.resize(kLongestMessage);
    parts[static_cast<size_t>(host)] = reinterpret_cast<const T*>(into.data());
    receive(host, into.data(), bytes(own_));
    send(host, data + begin(host), bytes(host));
  }
  wait();
  const int64_t length = begin(own_ + 1) - begin(own_);
  for (int64_t at = 0; at < length; at += kSumBlock) {
    tree_sum(parts.data(), size(), at, std::min(kSumBlock, length - at), data + begin(own_) + at);
  }
  for (int host = 0; host < size(); ++host) {
    if (host == own_) continue;
    receive(host, data + begin(host), bytes(host));
    send(host, data + begin(own_), bytes(own_));
  }
  wait();
}

template void Leaders::sum(float*, int64_t);
template void Leaders::sum(double*, int64_t);

}  // namespace hone::comm

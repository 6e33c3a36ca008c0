#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/link.h"

namespace hone::comm {

/// What hosts say to each other, through one rank of each, the leader. All leaders call the same
/// functions in the same order.
class Leaders {
 public:
  /// `ranks` are the leaders by host, and `own` is the number of this host. `check` is called while
  /// messages are waited for; it throws where the run has failed.
  Leaders(Link& link, std::vector<int> ranks, int own, std::function<void()> check);

  int own() const { return own_; }
  int size() const { return static_cast<int>(ranks_.size()); }

  /// Gives what each host has; all have the same number of bytes.
  std::vector<std::string> exchange(const std::string& own);
  /// Gives what each host has; their sizes may differ.
  std::vector<std::string> gather(const std::string& own);
  /// Sets data to the sum over hosts, added in the order of a tree over them (tree_sum.h). Every
  /// host sums a part of what all of them send and sends that to all.
  template <typename T>
  void sum(T* data, int64_t count);
  /// Sets data to that of host `root`.
  void broadcast(void* data, size_t bytes, int root);

 private:
  void send(int host, const void* data, size_t bytes);
  void receive(int host, void* data, size_t bytes);
  void wait();
  template <typename T>
  void sum_chunk(T* data, int64_t count);

  Link& link_;
  std::vector<int> ranks_;
  int own_;
  std::function<void()> check_;
  std::vector<Link::Request> under_way_;
  std::vector<std::vector<char>> received_;  ///< by host, parts to be summed
};

}  // namespace hone::comm

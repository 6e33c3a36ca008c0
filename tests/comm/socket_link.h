#pragma once

#include <deque>
#include <map>
#include <vector>

#include "comm/link.h"

namespace hone::comm {

/// Pairs of sockets between `size` processes that are forked later.
std::vector<std::vector<int>> make_pairs(int size);

/// A link over pairs of sockets, in place of MPI.
class SocketLink : public Link {
 public:
  SocketLink(int rank, std::vector<int> sockets);
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(sockets_.size()); }
  Request send(int to, const void* data, size_t bytes) override;
  Request receive(int from, void* data, size_t bytes) override;
  bool finished(Request request) override;
  void close() override {}

 private:
  struct Part {
    Request request;
    char* data;
    size_t left;
  };
  void move_on(int rank);

  int rank_;
  std::vector<int> sockets_;  ///< by rank
  std::vector<std::deque<Part>> sends_, receives_;
  std::map<Request, bool> open_;
  Request last_ = 0;
};

}  // namespace hone::comm

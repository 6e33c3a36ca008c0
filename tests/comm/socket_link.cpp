#include "comm/socket_link.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/error.h"

namespace hone::comm {

std::vector<std::vector<int>> make_pairs(int size) {
  std::vector<std::vector<int>> ends(static_cast<size_t>(size),
                                     std::vector<int>(static_cast<size_t>(size), -1));
  for (size_t a = 0; a < ends.size(); ++a) {
    for (size_t b = a + 1; b < ends.size(); ++b) {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fail(ErrorKind::io, "no sockets");
      }
      ends[a][b] = pair[0];
      ends[b][a] = pair[1];
    }
  }
  return ends;
}

SocketLink::SocketLink(int rank, std::vector<int> sockets)
    : rank_(rank),
      sockets_(std::move(sockets)),
      sends_(sockets_.size()),
      receives_(sends_.size()) {}

Link::Request SocketLink::send(int to, const void* data, size_t bytes) {
  sends_[static_cast<size_t>(to)].push_back(
      {++last_, const_cast<char*>(static_cast<const char*>(data)), bytes});
  open_[last_] = true;
  return last_;
}

Link::Request SocketLink::receive(int from, void* data, size_t bytes) {
  receives_[static_cast<size_t>(from)].push_back({++last_, static_cast<char*>(data), bytes});
  open_[last_] = true;
  return last_;
}

bool SocketLink::finished(Request request) {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_) move_on(rank);
  }
  if (open_.at(request)) return false;
  open_.erase(request);
  return true;
}

void SocketLink::move_on(int rank) {
  const int socket = sockets_[static_cast<size_t>(rank)];
  const auto move_queue = [&](std::deque<Part>& queue, auto call) {
    while (!queue.empty()) {
      Part& part = queue.front();
      const ssize_t moved = part.left == 0 ? 0 : call(socket, part.data, part.left);
      // A process that has gone looks like one from which nothing comes, as it does under MPI.
      if (moved < 0 || (moved == 0 && part.left > 0)) return;
      part.data += moved;
      part.left -= static_cast<size_t>(moved);
      if (part.left > 0) return;
      open_[part.request] = false;
      queue.pop_front();
    }
  };
  move_queue(sends_[static_cast<size_t>(rank)], [](int to, char* data, size_t bytes) {
    return ::send(to, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  move_queue(receives_[static_cast<size_t>(rank)], [](int from, char* data, size_t bytes) {
    return ::recv(from, data, bytes, MSG_DONTWAIT);
  });
}

}  // namespace hone::comm

#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::comm {

/// Messages between processes of several hosts, as MPI gives them. One thread at a time uses it.
/// Between two processes messages arrive in the order in which they were sent.
class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// A message under way; its memory must stay until finished() has said so.
  using Request = int64_t;
  virtual Request send(int to, const void* data, size_t bytes) = 0;
  virtual Request receive(int from, void* data, size_t bytes) = 0;
  /// Says whether the message has been sent or received; a request is asked for no more after that.
  virtual bool finished(Request request) = 0;

  /// Ends the link in good order, together with all other processes. Where it is not called, the
  /// process ends without a word to the others.
  virtual void close() = 0;
};

/// No message is longer than this.
constexpr size_t kLongestMessage = 1 << 20;

}  // namespace hone::comm

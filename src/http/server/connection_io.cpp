// How a connection's bytes come and go.

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "http/server/connection.h"
#include "http/server/loop.h"

namespace hone::http {
namespace {

/// Buffers that grew beyond it are given back rather than kept for a connection's next request.
constexpr size_t kKeptBytes = 1024;

}  // namespace

/// Adds to pending_ what one read of up to `most` bytes gives; where it gives `none`, another turn
/// will follow. A broken connection is closed and gives `none`.
Connection::Input Connection::read_input(size_t most) {
  if (ended_) return Input::ended;
  if (!readable_ && !transport_.buffered()) {
    wait_readable();
    return Input::none;
  }
  if (reads_left_-- == 0) {
    boost::asio::post(loop_.io(), [self = shared_from_this()] { self->resume(); });
    return Input::none;
  }
  keep_pending();
  std::vector<char>& buffer = loop_.read_buffer();
  const IoResult result = transport_.read(buffer.data(), std::min(most, buffer.size()));
  switch (result.status) {
    case IoStatus::done:
      // A read that did not fill the buffer emptied the socket.
      readable_ = transport_.encrypted() || result.bytes == std::min(most, buffer.size());
      if (input_.empty()) {
        pending_ = {buffer.data(), result.bytes};
      } else {
        input_.append(buffer.data(), result.bytes);
        pending_ = input_;
      }
      return Input::more;
    case IoStatus::want_read:
      readable_ = false;
      wait_readable();
      return Input::none;
    case IoStatus::want_write:
      wait_writable();
      return Input::none;
    case IoStatus::ended:
      return Input::ended;
    case IoStatus::failed:
      break;
  }
  close();
  return Input::none;
}

/// Moves what is pending into input_, and to its front.
void Connection::keep_pending() {
  if (pending_.empty()) {
    input_.clear();
    if (input_.capacity() > kKeptBytes) input_ = {};
  } else if (pending_.data() + pending_.size() == input_.data() + input_.size()) {
    input_.erase(0, input_.size() - pending_.size());
  } else {
    input_.assign(pending_);
  }
  pending_ = input_;
}

/// Writes a text that surely fits what the system buffers; closes where it does not.
bool Connection::write_now(std::string_view text) {
  const IoResult result = transport_.write(text, {});
  if (result.status == IoStatus::done && result.bytes == text.size()) return true;
  close();
  return false;
}

void Connection::wait_readable() {
  if (waits_readable_) return;
  waits_readable_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       self->waits_readable_ = false;
                       self->readable_ = true;
                       self->resume();
                     });
}

void Connection::wait_writable() {
  if (waits_writable_) return;
  waits_writable_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       self->waits_writable_ = false;
                       self->resume();
                     });
}

/// Closes the connection in a while, unless a request begins.
void Connection::wait_idle() {
  loop_.set_deadline(*this, loop_.draining() ? Wait::drain : Wait::idle);
}

/// Closes without waiting for the client to take what was written, which the system would keep for
/// it otherwise.
void Connection::abort() {
  const linger none = {1, 0};
  setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  close();
}

}  // namespace hone::http

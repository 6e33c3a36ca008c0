#include "http/server/connection.h"

#include <algorithm>

#include "http/server/loop.h"

namespace hone::http {
namespace {

/// How much of further requests is taken in while one is answered. Beyond it a client that leaves
/// is noticed only when it is written to.
constexpr size_t kPipelinedBytes = 16 * 1024;
/// Reads of one connection before the loop's others have a turn, which bounds what a client that
/// never stops sending can take.
constexpr int kReadsPerTurn = 16;

}  // namespace

Connection::Connection(Loop& loop, Socket socket, std::string peer, SslPtr ssl)
    : loop_(loop),
      socket_(loop.io(), socket.get()),
      transport_(socket.release(), std::move(ssl)),
      peer_(std::move(peer)) {}

/// Every entry from outside goes on until it has to wait, and keeps what it did not use.
template <typename First>
void Connection::turn(First&& first) {
  if (stage_ == Stage::closed) return;
  const auto self = shared_from_this();
  try {
    pending_ = input_;
    reads_left_ = kReadsPerTurn;
    first();
    advance();
    keep_pending();
  } catch (...) {  // There is no memory, or the handler's refuse() throws.
    close();
  }
  if (stage_ == Stage::closed) {
    pending_ = {};
    input_ = {};
  }
}

void Connection::resume() {
  turn([] {});
}

void Connection::start() {
  turn([&] {
    if (transport_.encrypted()) {
      loop_.set_deadline(*this, Wait::header);
    } else {
      stage_ = Stage::reading;
      wait_idle();
    }
  });
}

void Connection::drain() {
  if (stage_ == Stage::reading && !reader_) wait_idle();
}

void Connection::on_deadline() {
  if (stage_ == Stage::reading && reader_) {
    turn([&] {
      refuse({408, reader_->header_complete() ? "the body took too long to arrive"
                                              : "the header took too long to arrive"});
    });
  } else if (stage_ == Stage::reading && loop_.draining()) {
    // A request may have come since the socket was last looked at.
    turn([&] { readable_ = true; });
    if (stage_ == Stage::reading && !reader_) close();
  } else if (stage_ == Stage::writing) {
    abort();
  } else {
    close();
  }
}

void Connection::close() {
  if (stage_ == Stage::closed) return;
  stage_ = Stage::closed;
  if (const auto exchange = exchange_.lock()) exchange->abandon();
  loop_.clear_deadline(*this);
  reader_.reset();
  transport_.end();
  boost::system::error_code ignored;
  socket_.close(ignored);
  loop_.forget(*this);
}

void Connection::take_response(std::optional<Response> response) {
  if (stage_ != Stage::computing) return;
  if (response) {
    respond(std::move(*response));
  } else {
    refuse({500, "the request was dropped"});
  }
}

void Connection::deliver(std::optional<Response> response) {
  turn([&] { take_response(std::move(response)); });
}

void Connection::advance() {
  bool on = true;
  while (on) {
    switch (stage_) {
      case Stage::handshake:
        on = shake_hands();
        break;
      case Stage::reading:
        on = read_request();
        break;
      case Stage::computing:
        watch_client();
        return;
      case Stage::writing:
        on = write_response();
        break;
      case Stage::lingering:
        discard_input();
        return;
      case Stage::closed:
        return;
    }
  }
}

bool Connection::shake_hands() {
  switch (transport_.handshake().status) {
    case IoStatus::done:
      stage_ = Stage::reading;
      wait_idle();
      return true;
    case IoStatus::want_read:
      wait_readable();
      return false;
    case IoStatus::want_write:
      wait_writable();
      return false;
    default:
      close();
      return false;
  }
}

bool Connection::read_request() {
  for (;;) {
    if (!pending_.empty() && read_on()) return true;
    switch (read_input(loop_.read_buffer().size())) {
      case Input::more:
        break;
      case Input::none:
        return false;
      case Input::ended:
        close();
        return false;
    }
  }
}

void Connection::watch_client() {
  while (!ended_ && pending_.size() < kPipelinedBytes) {
    switch (read_input(kPipelinedBytes)) {
      case Input::more:
        break;
      case Input::none:
        return;
      case Input::ended:
        // It may have closed its sending side alone, and then it still gets its response.
        ended_ = true;
        if (const auto exchange = exchange_.lock()) exchange->abandon();
    }
    if (stage_ == Stage::closed) return;
  }
}

bool Connection::write_response() {
  while (written_ < head_.size() + body_.size()) {
    const size_t of_head = std::min(written_, head_.size());
    const std::string_view first = std::string_view(head_).substr(of_head);
    const std::string_view second = std::string_view(body_).substr(written_ - of_head);
    const IoResult result = transport_.write(first, second);
    switch (result.status) {
      case IoStatus::done:
        written_ += result.bytes;
        break;
      case IoStatus::want_write:
      case IoStatus::want_read:
        if (!write_timed_) loop_.set_deadline(*this, Wait::write);
        write_timed_ = true;
        result.status == IoStatus::want_write ? wait_writable() : wait_readable();
        return false;
      default:
        close();
        return false;
    }
  }
  finish_response();
  return true;
}

void Connection::discard_input() {
  pending_ = {};
  switch (read_input(loop_.read_buffer().size())) {
    case Input::more:
      pending_ = {};
      wait_readable();
      break;
    case Input::none:
      break;
    case Input::ended:
      close();
  }
}

}  // namespace hone::http

// What a connection does with requests and responses.

#include "http/server/connection.h"
#include "http/server/loop.h"
#include "http/server/response_text.h"

namespace hone::http {
namespace {

/// A body up to this size is copied behind the head, so that both go in one piece.
constexpr size_t kCopiedBody = 16 * 1024;

constexpr int kTooManyRequests = 429;

bool is_final_status(int status) { return status >= 200 && status <= 599; }

}  // namespace

/// Reads on in the request that is coming; whether the stage changed.
bool Connection::read_on() {
  const bool begins = reader_ == nullptr;
  if (begins) {
    reader_ = std::make_unique<RequestReader>(loop_.state().limits);
    told_to_continue_ = false;
  }
  const bool had_header = reader_->header_complete();
  switch (reader_->read(pending_)) {
    case RequestReader::Status::complete:
      dispatch();
      return true;
    case RequestReader::Status::refused:
      refuse(reader_->refusal());
      return true;
    case RequestReader::Status::more:
      break;
  }
  if (!reader_->header_complete()) {
    if (begins) loop_.set_deadline(*this, Wait::header);
    return false;
  }
  if (!had_header) loop_.set_deadline(*this, Wait::body);
  if (reader_->expects_continue() && !told_to_continue_ && pending_.empty()) {
    told_to_continue_ = true;
    return !write_now("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return false;
}

void Connection::dispatch() {
  loop_.clear_deadline(*this);
  client_keeps_ = reader_->keep_alive();
  http11_ = reader_->http11();
  Request request = reader_->take_request();
  reader_.reset();
  request.peer = peer_;
  head_only_ = request.method == "HEAD";
  stage_ = Stage::computing;
  auto exchange = std::make_shared<ServerExchange>(loop_.shared_from_this(), weak_from_this(),
                                                   std::move(request));
  exchange_ = exchange;
  if (ended_) exchange->abandon();
  in_handler_ = true;
  try {
    loop_.state().handler.handle(std::move(exchange));
  } catch (...) {
    exchange.reset();  // It gets status 500, unless the handler keeps it.
  }
  in_handler_ = false;
}

void Connection::refuse(Refusal refusal) {
  Request request = reader_ ? reader_->take_request() : Request{};
  request.peer = peer_;
  Response response = loop_.state().handler.refuse(request, refusal.status, refusal.reason);
  if (stage_ == Stage::reading) {  // What follows in the connection is nobody's request.
    response.close = true;
    http11_ = true;
    head_only_ = false;
    client_keeps_ = true;
    loop_.clear_deadline(*this);
    reader_.reset();
  }
  respond(std::move(response));
}

void Connection::respond(Response response) {
  if (!is_final_status(response.status)) response.status = 500;
  if (response.status == kTooManyRequests) loop_.pause();
  closes_ = response.close || !client_keeps_ || (ended_ && pending_.empty()) || loop_.draining();
  const Persistence persistence = closes_   ? Persistence::close
                                  : http11_ ? Persistence::implied
                                            : Persistence::keep_alive;
  head_ = response_head(response, persistence, loop_.date());
  if (!head_only_ && has_body(response.status)) {
    if (response.body.size() <= kCopiedBody) {
      head_ += response.body;
    } else {
      body_ = std::move(response.body);
    }
  }
  written_ = 0;
  write_timed_ = false;
  stage_ = Stage::writing;
}

void Connection::finish_response() {
  head_ = {};
  body_ = {};
  exchange_.reset();
  if (!closes_) {
    stage_ = Stage::reading;
    wait_idle();
    return;
  }
  if (ended_ || (!client_keeps_ && pending_.empty())) {
    close();
    return;
  }
  // The client may be sending still. Closing now would have the system answer that by a reset,
  // which can overtake the response.
  transport_.shut_down();
  stage_ = Stage::lingering;
  loop_.set_deadline(*this, Wait::linger);
}

}  // namespace hone::http

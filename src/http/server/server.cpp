#include "http/server/server.h"

#include <algorithm>

#include "base/error.h"
#include "http/server/listen.h"

namespace hone::http {
namespace {

constexpr int kMostThreads = 1024;

/// What times may be at most, so that none reaches beyond what clocks count.
constexpr std::chrono::milliseconds kMostTime = std::chrono::hours(24 * 365);

void check_time(const char* name, std::chrono::milliseconds time) {
  if (time.count() >= 1 && time <= kMostTime) return;
  fail(ErrorKind::usage, "{}: {} ms is not between 1 ms and a year", name, time.count());
}

void check(const ServerOptions& options) {
  if (options.threads < 1 || options.threads > kMostThreads) {
    fail(ErrorKind::usage, "threads: {} is not between 1 and {}", options.threads, kMostThreads);
  }
  if (options.connections < 1) fail(ErrorKind::usage, "connections: 0 would serve nobody");
  check_time("header_time", options.header_time);
  check_time("body_time", options.body_time);
  check_time("write_time", options.write_time);
  check_time("idle_time", options.idle_time);
  check_time("drain_idle_time", options.drain_idle_time);
}

}  // namespace

HttpServer::HttpServer(const ServerOptions& options, Handler& handler) : state_(options, handler) {
  check(options);
  make_room_for(options.connections);
  if (options.tls) tls_.emplace(*options.tls);
  for (int i = 0; i < options.threads; ++i) loops_.push_back(std::make_shared<Loop>(state_));
  acceptor_ = std::make_unique<Acceptor>(state_, loops_, tls_ ? &*tls_ : nullptr);
  try {
    for (const auto& loop : loops_) loop->start();
    loops_.front()->post([this] { acceptor_->start(); });
  } catch (...) {
    stop();
    throw;
  }
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
  for (const auto& loop : loops_) loop->stop();
  acceptor_.reset();
  for (const auto& loop : loops_) loop->release();
}

void HttpServer::reload_tls() {
  if (tls_) tls_->reload();
}

bool HttpServer::drain(std::chrono::milliseconds time) {
  const auto until = Clock::now() + std::min(time, kMostTime);
  loops_.front()->post([this] { acceptor_->drain(); });
  for (const auto& loop : loops_) {
    loop->post([loop] { loop->drain(); });
  }
  return state_.wait_for_none(until);
}

}  // namespace hone::http

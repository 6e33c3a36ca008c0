#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "http/http.h"
#include "http/http_client.h"

namespace hone::http {

/// A program for a server: what it does with a request is the request's path.
class TestHandler final : public Handler {
 public:
  ~TestHandler() override {
    for (std::thread& thread : threads_) thread.join();
  }

  void handle(std::shared_ptr<Exchange> exchange) override {
    const Request& request = exchange->request();
    handled_ += 1;
    if (request.path == "/echo") {
      exchange->respond({.content_type = "text/plain", .body = request.body});
    } else if (request.path == "/big") {
      exchange->respond({.body = std::string(std::stoul(request.query), 'x')});
    } else if (request.path == "/close") {
      exchange->respond({.body = "bye", .close = true});
    } else if (request.path == "/full") {
      exchange->respond({.status = 429, .body = request.query});
    } else if (request.path == "/none") {
      exchange->respond({.status = 204});
    } else if (request.path == "/thread") {
      const std::lock_guard lock(mutex_);
      threads_.emplace_back([exchange] { exchange->respond({.body = exchange->request().query}); });
    } else if (request.path == "/hold") {
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(exchange));
      changed_.notify_all();
    } else if (request.path == "/drop") {
      return;
    } else if (request.path == "/throw") {
      throw std::runtime_error("thrown");
    } else {
      exchange->respond({.headers = {{"X-Peer", request.peer}, {"X-Odd", "a\r\nb"}}, .body = "ok"});
    }
  }

  Response refuse(const Request& request, int status, std::string_view reason) override {
    const std::string* name = request.header("x-name");
    return {.status = status,
            .content_type = "text/plain",
            .headers = {{"X-Peer", request.peer},
                        {"X-Asked", request.method + ' ' + request.path},
                        {"X-Named", name ? *name : ""}},
            .body = std::string(reason)};
  }

  /// The oldest request of /hold that nobody has taken, once there is one; null: none came in time.
  std::shared_ptr<Exchange> take_held(std::chrono::milliseconds time = kPatience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return !held_.empty(); });
    if (held_.empty()) return nullptr;
    auto first = std::move(held_.front());
    held_.erase(held_.begin());
    return first;
  }

  int handled() const { return handled_; }

 private:
  std::atomic<int> handled_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Exchange>> held_;
  std::vector<std::thread> threads_;
};

inline ServerOptions test_options() {
  ServerOptions options;
  options.address = "127.0.0.1";
  options.port = 0;
  options.threads = 2;
  options.body_bytes = 100'000;
  options.connections = 500;
  return options;
}

/// Waits until something holds, but not for ever.
template <typename Condition>
bool eventually(Condition&& condition) {
  const auto until = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace hone::http

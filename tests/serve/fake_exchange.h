#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "http/http.h"
#include "serve/service.h"

namespace hone::serve {

/// A request without a connection; its response can be waited for.
class FakeExchange : public http::Exchange {
 public:
  explicit FakeExchange(http::Request request) : request_(std::move(request)) {
    request_.arrived = http::Clock::now();
    request_.peer = "127.0.0.1";
  }
  const http::Request& request() const override { return request_; }
  void respond(http::Response response) override {
    const std::lock_guard lock(mutex_);
    if (!response_) response_ = std::move(response);
    changed_.notify_all();
  }
  bool abandoned() const override { return gone_; }
  void leave() { gone_ = true; }

  http::Response wait() {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, std::chrono::minutes(2), [&] { return response_.has_value(); });
    if (!came) return {.status = 0};
    return *response_;
  }

 private:
  http::Request request_;
  std::atomic<bool> gone_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<http::Response> response_;
};

inline http::Response ask(Service& service, const std::string& method, const std::string& path,
                          const std::string& body = {}, std::vector<http::Header> headers = {}) {
  http::Request request;
  request.method = method;
  request.path = path;
  request.headers = std::move(headers);
  request.body = body;
  const auto exchange = std::make_shared<FakeExchange>(std::move(request));
  service.handle(exchange);
  return exchange->wait();
}

inline http::Response post(Service& service, const std::string& path, const Json& body,
                           std::vector<http::Header> headers = {}) {
  return ask(service, "POST", path, body.dump(), std::move(headers));
}

inline std::string header_of(const http::Response& response, const std::string& name) {
  for (const http::Header& header : response.headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

inline std::string golden_folder(const std::string& name) {
  return std::string(HONE_TEST_DIR) + "/../models/goldens/" + name;
}

/// The settings of a golden model on the processor.
inline ModelSettings golden_settings(const std::string& name, models::Output output) {
  ModelSettings settings;
  settings.folder = golden_folder(name);
  settings.session.threads = 1;
  settings.session.output = output;
  settings.session.normalize = false;
  return settings;
}

inline ModelSpec golden_spec(const std::string& name, models::Output output) {
  return {name, [=] { return golden_settings(name, output); }};
}

/// A classifier, a vector model and a regression, by the names of their goldens.
inline ServiceOptions golden_options() {
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits),
                    golden_spec("sentence-bert-mean", models::Output::embedding),
                    golden_spec("roberta-regression", models::Output::logits)};
  return options;
}

/// One service for all tests that only ask.
inline Service& golden_service() {
  static Service* const service = [] {
    auto* made = new Service(golden_options());
    made->load_all();
    return made;
  }();
  return *service;
}

/// What a session of its own answers.
inline infer::Answer session_answer(const std::string& name, models::Output output,
                                    const infer::Input& input, bool normalize = false) {
  infer::SessionOptions options = golden_settings(name, output).session;
  options.normalize = normalize;
  infer::Session session(golden_folder(name), options);
  return session.run(std::span(&input, 1)).front();
}

}  // namespace hone::serve

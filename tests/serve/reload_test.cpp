// Models that are loaded anew, and a server's end meanwhile.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/error.h"
#include "serve/fake_exchange.h"

namespace hone::serve {
namespace {

/// A model whose settings a test can make bad, slow, or make the server end.
struct ControlledModel {
  std::function<void()> before = [] {};

  ModelSpec spec(const std::string& name) {
    return {name, [this] {
              before();
              return golden_settings("bert-words", models::Output::logits);
            }};
  }
};

using Heard = std::vector<std::string>;

Heard reload(Service& service) {
  Heard heard;
  service.reload_all([&](const std::string& name, const std::exception* error) {
    heard.push_back(error ? name + ": " + error->what() : name);
  });
  return heard;
}

TEST(Reload, ABadModelIsNamedAndHoldsUpNoOther) {
  ControlledModel bad, good;
  ServiceOptions options;
  options.models = {bad.spec("bad"), good.spec("good")};
  Service service(std::move(options));
  service.load_all();
  const auto before = service.models().find("bad");
  const auto replaced = service.models().find("good");
  bad.before = [] { fail(ErrorKind::bad_file, "spoilt"); };
  EXPECT_EQ(reload(service), (Heard{"bad: spoilt", "good"}));
  EXPECT_EQ(service.models().find("bad"), before);
  EXPECT_NE(service.models().find("good"), replaced);
  EXPECT_THROW(service.load_all(), Error);
}

TEST(Reload, AServerThatDrainsBeginsWithNoFurtherModel) {
  ControlledModel first, second;
  ServiceOptions options;
  options.models = {first.spec("first"), second.spec("second")};
  Service service(std::move(options));
  service.load_all();
  first.before = [&] { service.drain(); };
  EXPECT_EQ(reload(service), (Heard{"first"}));
  EXPECT_EQ(ask(service, "POST", "/v2/repository/models/second/load").status, 503);
}

TEST(Reload, AServiceIsIdleWhenNoLoadIsUnderWay) {
  ControlledModel model;
  ServiceOptions options;
  options.models = {model.spec("m")};
  Service service(std::move(options));
  service.load_all();
  EXPECT_TRUE(service.idle());
  std::promise<void> begun, let_go;
  model.before = [&] {
    begun.set_value();
    let_go.get_future().wait();
  };
  http::Request request;
  request.method = "POST";
  request.path = "/v2/repository/models/m/load";
  const auto load = std::make_shared<FakeExchange>(std::move(request));
  service.handle(load);
  begun.get_future().wait();
  EXPECT_FALSE(service.idle());
  EXPECT_EQ(post(service, "/predict", {{"inputs", "the film"}}).status, 200);
  let_go.set_value();
  EXPECT_EQ(load->wait().status, 200);
  const auto until = Clock::now() + std::chrono::minutes(1);
  while (!service.idle() && Clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(service.idle());
}

}  // namespace
}  // namespace hone::serve

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/http.h"
#include "serve/call.h"
#include "serve/computing.h"
#include "serve/explaining.h"
#include "serve/metrics.h"
#include "serve/model_registry.h"
#include "serve/model_traits.h"
#include "serve/request_log.h"
#include "serve/router.h"
#include "serve/task_queue.h"

namespace hone::serve {

/// A model that the server was started with: load and unload know no others.
struct ModelSpec {
  std::string name;
  /// Looks at the folder as it is now; what is wrong with it is thrown.
  std::function<ModelSettings()> settings;
};

struct ServiceOptions {
  std::vector<ModelSpec> models;
  std::string api_key = {};  ///< empty: everybody may ask
  CorsOptions cors = {};
  ServerFacts facts = {};
  RequestLog::Format log = RequestLog::Format::none;
  int log_descriptor = 1;
};

/// Answers all routes. Outlives the server that calls it.
class Service : public http::Handler {
 public:
  explicit Service(ServiceOptions options);
  ~Service() override;

  /// Loads all models; what goes wrong is thrown.
  void load_all();
  /// Loads all models anew, one after the other, and tells `heard` of each: null, or what went
  /// wrong and left the model that there was. Once it drains, it begins with no further one.
  void reload_all(FunctionRef<void(const std::string& name, const std::exception* error)> heard);

  void handle(std::shared_ptr<http::Exchange> exchange) override;
  http::Response refuse(const http::Request& request, int status, std::string_view reason) override;

  /// Makes it not ready from now on, and has it load no further model.
  void drain() { draining_ = true; }
  /// Says whether nobody's task is under way or waits: a load or an explanation may still be when
  /// all connections have ended.
  bool idle() const { return loaders_.idle() && explaining_.idle(); }
  /// Sets the server whose connections the metrics count; null: none.
  void set_server(const http::Server* server) { server_ = server; }
  std::string metrics_text();
  RequestLog& log() { return log_; }
  Metrics& metrics() { return metrics_; }
  ModelRegistry& models() { return *registry_; }

 private:
  /// A model and what is known of it.
  struct Found {
    std::shared_ptr<ServedModel> model;
    std::shared_ptr<const ModelTraits> traits;
  };

  void answer(const CallPtr& call);
  void answer_preflight(const CallPtr& call);
  void check_key(const http::Request& request) const;
  void dispatch(const CallPtr& call, const RouteMatch& match);
  void answer_about_server(const CallPtr& call, const RouteMatch& match);

  /// An unknown name is a RequestError.
  Found find(const std::string& name);
  Found find_classifier(const std::string& name);
  Found find_embedding(const std::string& name);
  /// Gives the name that OpenAI's "model" means: with one model any name is its own.
  std::string openai_name(const RouteMatch& match, const std::string& asked) const;
  std::shared_ptr<const ModelTraits> traits_of(const std::string& name, const ServedModel& model);
  ReadLimits limits(const CallPtr& call, const ModelTraits* traits = nullptr) const;
  void compute_for(const CallPtr& call, const Found& found, Work work, WriteAnswers write,
                   bool token_embeddings = false);
  /// Does `task` in another thread; too many such requests are overload.
  void run_in_background(const CallPtr& call, std::function<void()> task);

  void predict(const CallPtr& call, const RouteMatch& match);
  void embed(const CallPtr& call, const RouteMatch& match);
  void embed_all(const CallPtr& call, const RouteMatch& match);
  void rerank(const CallPtr& call, const RouteMatch& match);
  void similarity(const CallPtr& call, const RouteMatch& match);
  void pipeline(const CallPtr& call, const RouteMatch& match);
  void embed_with(const CallPtr& call, const Found& found, const RequestFields& fields);
  void rerank_with(const CallPtr& call, const Found& found, const RequestFields& fields);
  void similarity_with(const CallPtr& call, const Found& found, const RequestFields& fields);
  void tokenize(const CallPtr& call, const RouteMatch& match);
  void decode(const CallPtr& call, const RouteMatch& match);
  void explain(const CallPtr& call, const RouteMatch& match);
  std::shared_ptr<ModelExplainer> explainer_of(const Found& found);
  void openai_embeddings(const CallPtr& call, const RouteMatch& match);
  void openai_classify(const CallPtr& call, const RouteMatch& match);
  void openai_model(const CallPtr& call, const RouteMatch& match);
  void model_metadata(const CallPtr& call, const RouteMatch& match);
  void model_ready(const CallPtr& call, const RouteMatch& match);
  void model_infer(const CallPtr& call, const RouteMatch& match);
  void repository_index(const CallPtr& call);
  void repository_load(const CallPtr& call, const RouteMatch& match);
  void repository_unload(const CallPtr& call, const RouteMatch& match);
  void root(const CallPtr& call);
  void info(const CallPtr& call, const RouteMatch& match);
  void health(const CallPtr& call);
  bool all_ready();
  void send_health(const CallPtr& call, bool ready);
  const ModelSpec& spec(const std::string& name) const;
  void load(const ModelSpec& wanted);

  const ServiceOptions options_;
  Metrics metrics_;
  RequestLog log_;
  std::atomic<const http::Server*> server_{nullptr};
  const int64_t started_;  ///< seconds since 1970
  std::atomic<bool> draining_{false};
  std::atomic<int64_t> ready_checked_{0};  ///< ticks of the clock
  std::atomic<bool> ready_{false};
  std::mutex traits_mutex_;
  std::map<const ServedModel*, std::shared_ptr<const ModelTraits>> traits_;
  std::map<std::string, std::shared_ptr<ModelExplainer>> explainers_;  ///< traits_mutex_ guards it

  // The order is that of their ends, from below: tasks that hold models, models that answer what
  // they have accepted, and those who write these answers.
  TaskQueue writers_;
  std::unique_ptr<ModelRegistry> registry_;
  TaskQueue background_;
  TaskQueue loaders_;
  TaskQueue explaining_;
};

/// Whether both are equal, in a time that depends on the lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace hone::serve

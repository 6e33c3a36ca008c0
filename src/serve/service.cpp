#include "serve/service.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace hone::serve {
namespace {

constexpr size_t kMostInBackground = 256;
constexpr size_t kMostLoads = 16;
constexpr size_t kMostExplanations = 64;
constexpr size_t kMostWaitingAnswers = 4096;

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  // Over all of `a`, whatever `b` is.
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other);
  }
  return differs == 0;
}

Service::Service(ServiceOptions options)
    : options_(std::move(options)),
      log_(options_.log, options_.log_descriptor, metrics_.log_lines_lost),
      started_(unix_seconds()),
      writers_(1, kMostWaitingAnswers),
      registry_(std::make_unique<ModelRegistry>()),
      background_(1, kMostInBackground),
      loaders_(1, kMostLoads),
      explaining_(1, kMostExplanations) {
  registry_->on_load([this](const std::string& name, ServedModel& model) {
    auto traits = std::make_shared<const ModelTraits>(name, model);
    model.on_batch([this](int64_t inputs, int64_t tokens) {
      metrics_.batch_size.record(static_cast<double>(inputs));
      metrics_.batch_tokens.record(static_cast<double>(tokens));
    });
    const std::lock_guard lock(traits_mutex_);
    std::erase_if(traits_, [&](const auto& entry) { return entry.second->name == name; });
    explainers_.erase(name);
    traits_[&model] = std::move(traits);
  });
}

Service::~Service() = default;

void Service::load(const ModelSpec& wanted) { registry_->load(wanted.name, wanted.settings()); }

void Service::load_all() {
  for (const ModelSpec& wanted : options_.models) load(wanted);
}

void Service::reload_all(
    FunctionRef<void(const std::string& name, const std::exception* error)> heard) {
  for (const ModelSpec& wanted : options_.models) {
    if (draining_) return;
    try {
      load(wanted);
      heard(wanted.name, nullptr);
    } catch (const std::exception& error) {
      heard(wanted.name, &error);
    }
  }
}

const ModelSpec& Service::spec(const std::string& name) const {
  for (const ModelSpec& known : options_.models) {
    if (known.name == name) return known;
  }
  throw RequestError(Failure::not_found, fmt::format("no model is named {}", quote(name)));
}

void Service::handle(std::shared_ptr<http::Exchange> exchange) {
  const auto call = std::make_shared<Call>(std::move(exchange), metrics_, log_, options_.cors);
  call->set_format(format_of(call->request().path));
  call->guard([&] { answer(call); });
}

http::Response Service::refuse(const http::Request& request, int status, std::string_view reason) {
  RequestError error(Failure::malformed, std::string(reason));
  error.status = status;
  http::Response response = error_response(format_of(request.path), error);
  response.close = true;
  LogEntry entry = log_entry(request);
  add_common_headers(request, entry.id, options_.cors, response);
  metrics_.failures[static_cast<size_t>(Failure::malformed)].add();
  metrics_.count_status(status);
  entry.status = status;
  entry.error = reason;
  entry.response_bytes = static_cast<int64_t>(response.body.size());
  const bool arrived = request.arrived != http::Clock::time_point();  // else its header never did
  if (arrived) entry.total = seconds_between(request.arrived, http::Clock::now());
  log_.write(entry);
  return response;
}

void Service::answer(const CallPtr& call) {
  const http::Request& request = call->request();
  if (request.method == "OPTIONS" && options_.cors.on()) return answer_preflight(call);
  const RouteMatch match = find_route(request.method, request.path);
  call->set_format(match.entry->format);
  if (!match.entry->is_public) check_key(request);
  dispatch(call, match);
}

void Service::answer_preflight(const CallPtr& call) {
  http::Response response;
  response.status = 204;
  response.content_type.clear();
  response.headers = {
      {"Access-Control-Allow-Methods", "GET, POST"},
      {"Access-Control-Allow-Headers",
       "content-type, authorization, x-request-id, traceparent, "
       "x-request-timeout-ms"},
      {"Access-Control-Max-Age", "600"},
  };
  call->send(std::move(response));
}

void Service::check_key(const http::Request& request) const {
  if (options_.api_key.empty()) return;
  constexpr std::string_view kScheme = "Bearer ";
  const std::string* given = request.header("authorization");
  const std::string_view key = given && given->starts_with(kScheme)
                                   ? std::string_view(*given).substr(kScheme.size())
                                   : std::string_view();
  if (equal_in_constant_time(options_.api_key, key)) return;
  throw RequestError(Failure::unauthorized,
                     given ? "the API key is not right" : "an API key is needed: Bearer KEY");
}

void Service::dispatch(const CallPtr& call, const RouteMatch& match) {
  switch (match.entry->route) {
    case Route::predict:
    case Route::predict_batch:
      return predict(call, match);
    case Route::embed:
      return embed(call, match);
    case Route::embed_all:
      return embed_all(call, match);
    case Route::rerank:
      return rerank(call, match);
    case Route::similarity:
      return similarity(call, match);
    case Route::pipeline:
      return pipeline(call, match);
    case Route::tokenize:
      return tokenize(call, match);
    case Route::decode:
      return decode(call, match);
    case Route::explain:
      return explain(call, match);
    case Route::openai_embeddings:
      return openai_embeddings(call, match);
    case Route::openai_classify:
      return openai_classify(call, match);
    case Route::model_metadata:
      return model_metadata(call, match);
    case Route::model_ready:
      return model_ready(call, match);
    case Route::model_infer:
      return model_infer(call, match);
    case Route::repository_load:
      return repository_load(call, match);
    case Route::repository_unload:
      return repository_unload(call, match);
    default:
      return answer_about_server(call, match);
  }
}

Service::Found Service::find(const std::string& name) {
  Found found{registry_->find(name), nullptr};
  if (!found.model && name.empty()) {
    throw RequestError(Failure::unhealthy, "no model is loaded");
  }
  if (!found.model) {
    throw RequestError(Failure::not_found, fmt::format("no model is named {}", quote(name)));
  }
  found.traits = traits_of(name, *found.model);
  return found;
}

std::shared_ptr<const ModelTraits> Service::traits_of(const std::string& name,
                                                      const ServedModel& model) {
  {
    const std::lock_guard lock(traits_mutex_);
    const auto known = traits_.find(&model);
    if (known != traits_.end()) return known->second;
  }
  // The model was replaced between two steps of this request; what it was is asked of it again.
  return std::make_shared<const ModelTraits>(name, model);
}

Service::Found Service::find_classifier(const std::string& name) {
  Found found = find(name);
  if (found.traits->embeds()) {
    throw RequestError(Failure::model_type,
                       fmt::format("{} is an embedding model, it cannot predict; use /embed",
                                   quote(found.traits->name)));
  }
  return found;
}

Service::Found Service::find_embedding(const std::string& name) {
  Found found = find(name);
  if (!found.traits->embeds()) {
    throw RequestError(Failure::model_type,
                       fmt::format("{} is a classifier, it is not an embedding model; use /predict",
                                   quote(found.traits->name)));
  }
  return found;
}

ReadLimits Service::limits(const CallPtr& call, const ModelTraits* traits) const {
  return {.body_bytes = call->request().body.size(),
          .inputs = static_cast<size_t>(options_.facts.max_client_batch_size),
          .prompts = traits ? &traits->prompts : nullptr};
}

void Service::compute_for(const CallPtr& call, const Found& found, Work work, WriteAnswers write,
                          bool token_embeddings) {
  call->set_model(found.traits->name);
  ComputeOptions options;
  options.purpose = found.traits->embeds() ? Purpose::embed : Purpose::predict;
  options.truncate = options_.facts.auto_truncate;
  options.token_embeddings = token_embeddings;
  options.traits = found.traits;
  compute(call, *found.model, std::move(work), options, metrics_, writers_, std::move(write));
}

void Service::run_in_background(const CallPtr& call, std::function<void()> task) {
  const bool taken = background_.post([call, task = std::move(task)] { call->guard(task); });
  if (!taken) throw RequestError(Failure::overloaded, "too many requests of this kind wait");
}

}  // namespace hone::serve

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "serve/service.h"
#include "serve/wire_openai.h"

namespace hone::serve {

std::string Service::openai_name(const RouteMatch& match, const std::string& asked) const {
  if (!match.model.empty()) return match.model;
  const std::vector<std::string> names = registry_->names();
  const bool known = std::ranges::find(names, asked) != names.end();
  if (known || asked.empty() || names.size() > 1) return asked;
  return {};
}

void Service::openai_embeddings(const CallPtr& call, const RouteMatch& match) {
  const JsonBody body(call->request().body);
  auto ask = std::make_shared<OpenAiEmbedAsk>(
      read_openai_embeddings(RequestFields(body.root()), limits(call)));
  const Found found = find_embedding(openai_name(match, ask->model));
  Work work = std::move(ask->embed.work);
  compute_for(call, found, std::move(work),
              [ask, traits = found.traits](auto answers, http::Response& response) {
                response.body = write_openai_embeddings(*ask, traits->name, answers);
              });
}

void Service::openai_classify(const CallPtr& call, const RouteMatch& match) {
  const JsonBody body(call->request().body);
  ClassifyAsk ask = read_classify(RequestFields(body.root()), limits(call));
  const Found found = find_classifier(openai_name(match, ask.model));
  const int64_t created = std::chrono::duration_cast<std::chrono::seconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count();
  compute_for(
      call, found, std::move(ask.work),
      [created, id = call->id(), traits = found.traits](auto answers, http::Response& response) {
        response.body = write_classify(*traits->config, traits->name, id, created, answers);
      });
}

void Service::openai_model(const CallPtr& call, const RouteMatch& match) {
  find(match.model);
  call->send_json(write_model(match.model, started_));
}

}  // namespace hone::serve

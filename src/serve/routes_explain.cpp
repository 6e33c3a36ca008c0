#include "serve/service.h"

namespace hone::serve {

std::shared_ptr<ModelExplainer> Service::explainer_of(const Found& found) {
  const std::string& name = found.traits->name;
  {
    const std::lock_guard lock(traits_mutex_);
    const auto known = explainers_.find(name);
    if (known != explainers_.end()) return known->second;
  }
  auto made = std::make_shared<ModelExplainer>(found.model->settings());
  const std::lock_guard lock(traits_mutex_);
  // Where the model was replaced meanwhile, this one answers this request alone.
  if (traits_.contains(found.model.get())) explainers_[name] = made;
  return made;
}

/// Explanations take many forward passes, so they wait in a line of their own, where one thread
/// takes them: requests for answers go past.
void Service::explain(const CallPtr& call, const RouteMatch& match) {
  const Found found = find_classifier(match.model);
  call->set_model(found.traits->name);
  const JsonBody body(call->request().body);
  auto ask = std::make_shared<ExplainAsk>(read_explain(RequestFields(body.root()), limits(call)));
  const Clock::time_point deadline = deadline_of(call->request());
  count_request(call, ask->work, Purpose::explain, metrics_);
  const bool taken = explaining_.post([=, this] {
    call->guard([&] {
      const Clock::time_point begin = Clock::now();
      if (call->abandoned()) throw JobAbandoned();
      if (begin > deadline) throw JobLate();
      const auto explanations = explainer_of(found)->explain(*ask, options_.facts.auto_truncate);
      ComputeFacts facts{.purpose = Purpose::explain,
                         .characters = ask->work.characters,
                         .single = ask->work.single};
      for (const explain::Explanation& one : explanations) {
        facts.inputs.push_back({one.tokens, one.truncated ? one.original_tokens : one.tokens});
      }
      facts.times.queue = seconds_between(call->request().arrived, begin);
      facts.times.inference = seconds_between(begin, Clock::now());
      send_computed(call, facts, metrics_, [&](http::Response& response) {
        response.body = write_explanations(ask->work.single, explanations);
      });
    });
  });
  if (!taken) throw RequestError(Failure::overloaded, "too many requests for explanations wait");
}

}  // namespace hone::serve

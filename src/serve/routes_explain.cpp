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
  const size_t kind = ask->work.single ? 0 : 1;
  metrics_.requests[kind].add();
  call->entry().inputs = static_cast<int64_t>(ask->work.size());
  const bool taken = explaining_.post([=, this] {
    call->guard([&] {
      if (call->abandoned()) throw JobAbandoned();
      if (Clock::now() > deadline) throw JobLate();
      const auto explanations = explainer_of(found)->explain(*ask, options_.facts.auto_truncate);
      for (const explain::Explanation& one : explanations) {
        call->entry().tokens += one.tokens;
        call->entry().truncated += one.truncated ? 1 : 0;
      }
      call->entry().inference = call->seconds();
      metrics_.successes[kind].add();
      call->send_json(write_explanations(ask->work.single, explanations));
    });
  });
  if (!taken) throw RequestError(Failure::overloaded, "too many requests for explanations wait");
}

}  // namespace hone::serve

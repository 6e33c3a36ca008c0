#include <algorithm>

#include "base/error.h"
#include "base/json_text.h"
#include "serve/service.h"
#include "serve/wire_kserve.h"

namespace hone::serve {
namespace {

void check_version(const RouteMatch& match) {
  if (match.version.empty() || match.version == kModelVersion) return;
  throw RequestError(Failure::not_found,
                     fmt::format("{} has no version {}, only {}", quote(match.model),
                                 quote(match.version), kModelVersion));
}

}  // namespace

void Service::model_metadata(const CallPtr& call, const RouteMatch& match) {
  check_version(match);
  const Found found = find(match.model);
  call->send_json(write_model_metadata(found.traits->infer_model()));
}

void Service::model_ready(const CallPtr& call, const RouteMatch& match) {
  check_version(match);
  const Found found = find(match.model);
  run_in_background(call, [this, call, found] {
    const bool ready = !draining_ && found.model->ready();
    if (!ready) throw RequestError(Failure::unhealthy, "the model is not ready");
    std::string out = "{\"name\":";
    append_json(out, found.traits->name);
    call->send_json(out + ",\"ready\":true}");
  });
}

void Service::model_infer(const CallPtr& call, const RouteMatch& match) {
  check_version(match);
  const Found found = find(match.model);
  const std::string* header = call->request().header("inference-header-content-length");
  auto ask = std::make_shared<InferAsk>(
      read_infer(call->request().body,
                 header ? std::optional<std::string_view>(*header) : std::nullopt, limits(call)));
  Work work = std::move(ask->work);
  work.single = work.size() == 1;
  compute_for(call, found, std::move(work),
              [ask, traits = found.traits](auto answers, http::Response& response) {
                InferBody written = write_infer(traits->infer_model(), *ask, answers);
                response.body = std::move(written.body);
                if (!written.header_bytes) return;
                response.content_type = "application/octet-stream";
                response.headers.push_back(
                    {"Inference-Header-Content-Length", std::to_string(*written.header_bytes)});
              });
}

void Service::repository_index(const CallPtr& call) {
  const std::vector<std::string> loaded = registry_->names();
  std::string out;
  for (const ModelSpec& known : options_.models) {
    const bool ready = std::ranges::find(loaded, known.name) != loaded.end();
    out += out.empty() ? "[{\"name\":" : ",{\"name\":";
    append_json(out, known.name);
    out += fmt::format(",\"version\":\"{}\",\"state\":\"{}\",\"reason\":\"{}\"}}", kModelVersion,
                       ready ? "READY" : "UNAVAILABLE", ready ? "" : "unloaded");
  }
  call->send_json(out.empty() ? "[]" : out + ']');
}

void Service::repository_load(const CallPtr& call, const RouteMatch& match) {
  const ModelSpec& wanted = spec(match.model);
  const bool taken = loaders_.post([this, call, &wanted] {
    call->guard([&] {
      if (draining_) throw RequestError(Failure::unhealthy, "about to end");
      load(wanted);
      log_.note("INFO", fmt::format("model {} was loaded", quote(wanted.name)));
      call->send_json("{}");
    });
  });
  if (!taken) throw RequestError(Failure::overloaded, "too many models wait to be loaded");
}

void Service::repository_unload(const CallPtr& call, const RouteMatch& match) {
  const ModelSpec& wanted = spec(match.model);
  const bool taken = loaders_.post([this, call, &wanted] {
    call->guard([&] {
      registry_->unload(wanted.name);
      log_.note("INFO", fmt::format("model {} was unloaded", quote(wanted.name)));
      call->send_json("{}");
    });
  });
  if (!taken) throw RequestError(Failure::overloaded, "too many models wait to be loaded");
}

}  // namespace hone::serve

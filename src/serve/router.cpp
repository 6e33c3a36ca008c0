#include "serve/router.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"

namespace hone::serve {
namespace {

constexpr auto kTei = WireFormat::tei;
constexpr auto kKserve = WireFormat::kserve;
constexpr auto kOpenAi = WireFormat::openai;

constexpr auto kRoutes = std::to_array<RouteEntry>({
    {Route::root, "GET", "/", kTei, true},
    {Route::pipeline, "POST", "/"},
    {Route::pipeline, "POST", "/invocations"},
    {Route::health, "GET", "/health", kTei, true},
    {Route::health, "GET", "/ping", kTei, true},
    {Route::metrics, "GET", "/metrics", kTei, true},
    {Route::info, "GET", "/info"},
    {Route::docs, "GET", "/docs", kTei, true},
    {Route::openapi, "GET", "/api-doc/openapi.json", kTei, true},
    {Route::predict, "POST", "/predict"},
    {Route::predict_batch, "POST", "/predict/batch"},
    {Route::embed, "POST", "/embed"},
    {Route::embed_all, "POST", "/embed_all"},
    {Route::rerank, "POST", "/rerank"},
    {Route::similarity, "POST", "/similarity"},
    {Route::tokenize, "POST", "/tokenize"},
    {Route::decode, "POST", "/decode"},
    {Route::explain, "POST", "/explain"},
    {Route::openai_embeddings, "POST", "/v1/embeddings", kOpenAi},
    {Route::openai_embeddings, "POST", "/embeddings", kOpenAi},
    {Route::openai_classify, "POST", "/v1/classify", kOpenAi},
    {Route::openai_models, "GET", "/v1/models", kOpenAi},
    {Route::openai_model, "GET", "/v1/models/{m}", kOpenAi},
    {Route::server_metadata, "GET", "/v2", kKserve},
    {Route::server_live, "GET", "/v2/health/live", kKserve, true},
    {Route::server_ready, "GET", "/v2/health/ready", kKserve, true},
    {Route::model_metadata, "GET", "/v2/models/{m}", kKserve},
    {Route::model_metadata, "GET", "/v2/models/{m}/versions/{v}", kKserve},
    {Route::model_ready, "GET", "/v2/models/{m}/ready", kKserve, true},
    {Route::model_ready, "GET", "/v2/models/{m}/versions/{v}/ready", kKserve, true},
    {Route::model_infer, "POST", "/v2/models/{m}/infer", kKserve},
    {Route::model_infer, "POST", "/v2/models/{m}/versions/{v}/infer", kKserve},
    {Route::repository_index, "POST", "/v2/repository/index", kKserve},
    {Route::repository_load, "POST", "/v2/repository/models/{m}/load", kKserve},
    {Route::repository_unload, "POST", "/v2/repository/models/{m}/unload", kKserve},
});

/// Takes the next segment, with the slash before it, off a path that is not empty.
std::string_view take_segment(std::string_view& path) {
  const size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view segment = path.substr(1, end - 1);
  path.remove_prefix(end);
  return segment;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string decoded(std::string_view segment) {
  std::string out;
  for (size_t at = 0; at < segment.size(); ++at) {
    if (segment[at] != '%') {
      out += segment[at];
      continue;
    }
    const int high = at + 1 < segment.size() ? hex_digit(segment[at + 1]) : -1;
    const int low = at + 2 < segment.size() ? hex_digit(segment[at + 2]) : -1;
    if (high < 0 || low < 0) throw RequestError(Failure::validation, "path: bad % escape");
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

std::optional<RouteMatch> match(const RouteEntry& entry, std::string_view path) {
  RouteMatch found{&entry};
  std::string_view pattern = entry.pattern;
  while (!pattern.empty()) {
    if (path.empty() || path.front() != '/') return std::nullopt;
    const std::string_view wanted = take_segment(pattern);
    const std::string_view got = take_segment(path);
    if (wanted == "{m}" || wanted == "{v}") {
      if (got.empty()) return std::nullopt;
      (wanted == "{m}" ? found.model : found.version) = decoded(got);
    } else if (wanted != got) {
      return std::nullopt;
    }
  }
  if (!path.empty()) return std::nullopt;
  return found;
}

/// "/models/NAME/predict" becomes "/predict" and NAME.
std::string take_model(std::string_view& path) {
  constexpr std::string_view kPrefix = "/models/";
  if (!path.starts_with(kPrefix)) return {};
  std::string_view rest = path.substr(kPrefix.size() - 1);
  std::string model = decoded(take_segment(rest));
  path = rest.empty() ? "/" : rest;
  return model;
}

}  // namespace

std::span<const RouteEntry> routes() { return kRoutes; }

RouteMatch find_route(std::string_view method, std::string_view path) {
  const std::string_view sent = path;
  const std::string model = take_model(path);
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::string allow;
  for (const RouteEntry& entry : kRoutes) {
    if (!model.empty() && entry.format == WireFormat::kserve) continue;
    auto found = match(entry, path);
    if (!found) continue;
    if (entry.method == wanted) {
      if (found->model.empty()) found->model = model;
      return *found;
    }
    allow += (allow.empty() ? "" : ", ") + std::string(entry.method);
    if (entry.method == "GET") allow += ", HEAD";
  }
  if (allow.empty()) {
    throw RequestError(Failure::not_found, fmt::format("no such route: {}", quote(sent)));
  }
  RequestError error(Failure::method, fmt::format("{}: {} is not allowed, only {}", quote(sent),
                                                  quote(method, 20), allow));
  error.allow = allow;
  throw error;
}

WireFormat format_of(std::string_view path) {
  if (path == "/v2" || path.starts_with("/v2/")) return WireFormat::kserve;
  if (path.starts_with("/v1/") || path == "/embeddings") return WireFormat::openai;
  return WireFormat::tei;
}

}  // namespace hone::serve

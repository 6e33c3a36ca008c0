#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/errors.h"

namespace hone::serve {

enum class Route {
  root,
  health,
  metrics,
  info,
  docs,
  openapi,
  pipeline,
  predict,
  predict_batch,
  embed,
  embed_all,
  rerank,
  similarity,
  tokenize,
  decode,
  explain,
  openai_embeddings,
  openai_classify,
  openai_models,
  openai_model,
  server_metadata,
  server_live,
  server_ready,
  model_metadata,
  model_ready,
  model_infer,
  repository_index,
  repository_load,
  repository_unload,
};

struct RouteEntry {
  Route route;
  std::string_view method;
  std::string_view
      pattern;  ///< segments in braces take any text: {m} a model's name, {v} a version
  WireFormat format = WireFormat::tei;
  bool is_public = false;  ///< whether it is answered without an API key
};
std::span<const RouteEntry> routes();

/// Where a request goes.
struct RouteMatch {
  const RouteEntry* entry = nullptr;
  std::string model = {};    ///< empty: the first
  std::string version = {};  ///< empty: any
};

/// Finds the route of a path as it was sent. `/models/NAME` before a path of
/// text-embeddings-inference or OpenAI chooses the model. HEAD goes where GET goes. An unknown path
/// is a RequestError (not_found), a known one with another method one that says which it takes.
RouteMatch find_route(std::string_view method, std::string_view path);

/// Gives the form that an error of this path has, whether the path is known or not.
WireFormat format_of(std::string_view path);

}  // namespace hone::serve

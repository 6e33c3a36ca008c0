#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "serve/served_model.h"
#include "serve/wire_kserve.h"
#include "serve/wire_tei.h"

namespace hone::serve {

/// What requests need to know of a model besides its answers. Does not hold the model itself.
struct ModelTraits {
  enum class Kind { classifier, reranker, embedding };

  /// Reads the prompts of the model's folder; a bad file of them is an Error.
  ModelTraits(std::string name_in, const ServedModel& model);

  std::string name;
  Kind kind = Kind::classifier;
  std::shared_ptr<const models::ModelConfig> config;
  int64_t width = 0;              ///< the answer's
  bool normalize = false;         ///< what the folder says of its vectors
  std::string_view pooling = "";  ///< set where the model embeds
  std::string_view compute_type;  ///< "cpu", "gpu" or "cpu+gpu"
  Prompts prompts;

  bool embeds() const { return kind == Kind::embedding; }
  InferModel infer_model() const;
};

/// KServe's version of every model.
inline constexpr std::string_view kModelVersion = "1";

/// What `/info` says that clients of text-embeddings-inference know, and what hone adds to it.
struct ServerFacts {
  int64_t max_concurrent_requests = 512;
  int64_t max_client_batch_size = 32;
  int64_t payload_limit = 2'000'000;
  int64_t io_threads = 1;
  bool auto_truncate = true;
};
OrderedJson info_json(const ModelTraits& traits, const ServedModel& model,
                      const ServerFacts& facts);

}  // namespace hone::serve

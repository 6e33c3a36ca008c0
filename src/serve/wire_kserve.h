#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_config.h"
#include "serve/wire_tei.h"
#include "serve/work.h"

/// The Open Inference Protocol (KServe v2) as its clients send and read it: tensors in JSON, or
/// their bytes behind it, as Triton's binary extension has them.
namespace hone::serve {

/// A tensor that the answer shall have.
struct AskedOutput {
  std::string name;
  bool binary = false;
  int64_t classes = 0;  ///< best ones, each a string "score:index:label"; 0: plain values
};

struct InferAsk {
  Work work;
  std::string id;
  std::vector<AskedOutput> outputs;  ///< empty: all
  bool binary = false;               ///< counts where `outputs` is empty
};

/// `header_bytes`: the value of Inference-Header-Content-Length, where there is one. The body is
/// JSON of that length and then the bytes of tensors; without it, JSON alone.
InferAsk read_infer(std::string_view body, std::optional<std::string_view> header_bytes,
                    const ReadLimits& limits);

struct InferBody {
  std::string body;
  std::optional<size_t> header_bytes = {};  ///< length of the JSON, where bytes follow
};

/// What the answers belong to. `config` is null of a model that embeds.
struct InferModel {
  std::string name;
  std::string version;
  const models::ModelConfig* config = nullptr;
  int64_t width = 0;       ///< a vector's, where the model embeds
  bool normalize = false;  ///< whether vectors are scaled
};
InferBody write_infer(const InferModel& model, const InferAsk& ask,
                      std::span<const infer::Answer> answers);
/// Writes the answer to GET /v2/models/{m}.
std::string write_model_metadata(const InferModel& model);

}  // namespace hone::serve

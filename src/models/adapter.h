#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/weights.h"
#include "models/family.h"
#include "nn/lora.h"

namespace hone::models {

/// Holds what one adapter adds to a weight [rows, width]: scale * B A.
struct LoraDelta {
  int64_t rank;
  int64_t width;
  float scale;
  std::vector<float> a;  ///< [rank, width]
  std::vector<float> b;  ///< [rows, rank]

  int64_t rows() const { return static_cast<int64_t>(b.size()) / rank; }
  /// Adds (+=) rows [first, first + count) of scale * B A to `out`.
  void add(int64_t first, int64_t count, float* out) const;
};

/// A LoRA adapter in PEFT's layout: adapter_config.json, and adapter_model.safetensors or .bin.
class Adapter {
 public:
  /// Reads the config, and which tensors there are. A kind of adapter that computes something else
  /// than scale * B A is an error that names the field.
  explicit Adapter(const std::string& folder);

  /// Gives what base_model_name_or_path says: a folder, or a name in the Hugging Face cache.
  const std::string& base() const { return base_; }
  /// Gives the options of an encoder that this adapter fits into; the targets are the whole names
  /// of the layers.
  const nn::LoraOptions& options() const { return options_; }
  const io::Weights& weights() const { return *weights_; }

  /// Gives the adapter's own tensor of a parameter's name (without family prefix), such as that of
  /// a new head; null where there is none.
  const io::TensorInfo* find(const Family& family, const std::string& name) const;
  /// Gives what is added to the weight `name`, which has this shape; null where nothing is.
  std::shared_ptr<const LoraDelta> delta(const Family& family, const std::string& name,
                                         const std::vector<int64_t>& shape) const;

 private:
  std::vector<float> read(const io::TensorInfo& tensor) const;

  std::string base_;
  nn::LoraOptions options_;
  bool rank_stabilized_ = false;  ///< scale alpha / sqrt(rank)
  bool ranks_differ_ = false;
  std::unique_ptr<io::Weights> weights_;
};

/// Gives the name in the model of what an adapter's tensor replaces or belongs to.
std::string adapted_name(const io::TensorInfo& tensor);

/// Says whether a folder is an adapter's.
bool is_adapter_folder(const std::string& folder);

}  // namespace hone::models

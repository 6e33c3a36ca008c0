#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kernels/cpu/activation.h"
#include "models/exits.h"
#include "nn/transformer_layer.h"

namespace hone::models {

enum class PositionKind { absolute, relative_key, relative_key_query };
enum class ProblemType { single_label, multi_label, regression };

/// How a model is cut to int8.
struct Quantization {
  bool stored = false;  ///< the folder's weights are bytes (see models/int8.h)
  /// Parts that keep a higher precision where the rest runs in int8, of int8_parts().
  std::vector<std::string> kept = {};

  bool keeps(std::string_view part) const {
    return std::find(kept.begin(), kept.end(), part) != kept.end();
  }
};

/// What of a config.json changes an encoder's result, in one vocabulary for all families.
struct EncoderConfig {
  std::string model_type;
  int64_t vocab_size = 0;
  int64_t embedding_size = 0;  ///< equals hidden_size except where it is factorised (ALBERT)
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t heads = 0;
  int64_t layers = 0;
  int64_t positions = 0;
  int64_t type_vocab_size = 0;  ///< 0: no type embeddings
  kernels::Activation activation = kernels::Activation::gelu;
  double layer_norm_eps = 1e-12;
  PositionKind position_kind = PositionKind::absolute;
  int64_t pad_id = 0;
  /// RoBERTa counts positions from pad_id + 1 and leaves pad tokens out of the count.
  bool positions_skip_pad = false;
  int64_t layer_groups = 0;    ///< ALBERT: distinct groups of weights; 0 where layers share nothing
  int64_t layers_a_group = 1;  ///< ALBERT's inner_group_num

  /// What training drops; inference does not.
  float embedding_dropout = 0;
  nn::LayerDropout layer_dropout;
  float head_dropout = 0;
  float initializer_range = 0.02f;  ///< standard deviation of new weights

  ProblemType problem = ProblemType::single_label;
  std::vector<std::string> labels;  ///< by class id
  bool labels_named = false;        ///< false where they are LABEL_0, LABEL_1, ...

  Quantization quantization;
  ExitSettings exits;

  int64_t head_size() const { return hidden_size / heads; }
  /// Tokens that have a position.
  int64_t max_tokens() const { return positions_skip_pad ? positions - pad_id - 1 : positions; }
  /// How many times a layer runs.
  int64_t depth() const { return layers * layers_a_group; }
};

/// Reads and checks a config.json that has been parsed; `file` names it in errors. An unknown
/// model_type or a field whose value would change the result unsupported is an error.
EncoderConfig read_config(const Json& json, const std::string& file);

/// Writes `config`'s label names, problem type and exits into a config.json's object.
void write_labels(const EncoderConfig& config, Json& json);

}  // namespace hone::models

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/text_batch.h"
#include "kernels/cpu/activation.h"
#include "models/explain_settings.h"
#include "models/model_config.h"
#include "nn/layer_dropout.h"

namespace hone::models {

enum class PositionKind { absolute, relative_key, relative_key_query };

/// The fields of a config.json that change an encoder's result, in one vocabulary for all families.
struct EncoderConfig : ModelConfig {
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

  bool parses = false;  ///< the head is a parser's (models/parser.h), not a classifier's
  /// Present where the model explains itself (models/explainer.h).
  std::optional<ExplainSettings> explains = {};

  /// Training drops with these probabilities; inference does not drop.
  float embedding_dropout = 0;
  nn::LayerDropout layer_dropout;
  float head_dropout = 0;

  int64_t head_size() const { return hidden_size / heads; }
  /// Gives the number of tokens that have a position.
  int64_t max_tokens() const { return positions_skip_pad ? positions - pad_id - 1 : positions; }
  /// Gives the limits of what the model takes as a sequence of tokens.
  data::TextLimits limits() const {
    return {max_tokens(), vocab_size, type_vocab_size, pad_id, positions_skip_pad};
  }

  std::unique_ptr<ModelConfig> clone() const override {
    return std::make_unique<EncoderConfig>(*this);
  }
  std::string summary() const override;
  std::vector<std::pair<std::string, int64_t>> facts() const override {
    return {{"layers", depth()}, {"hidden_size", hidden_size}};
  }
  int64_t depth() const override { return layers * layers_a_group; }
  int64_t max_units() const override { return max_tokens(); }
  std::vector<std::string> parts() const override;
};

/// Reads and checks the config.json of an encoder; see read_model_config().
EncoderConfig read_config(const Json& json, const std::string& file);

}  // namespace hone::models

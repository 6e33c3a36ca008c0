#pragma once

#include <optional>
#include <string>

#include "nn/layer_dropout.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/packing.h"
#include "ops/attention.h"

namespace hone::nn {

struct TransformerSizes {
  int64_t hidden;
  int64_t heads;
  int64_t intermediate;
  kernels::Activation activation;
  double eps;
  DType dtype;  ///< dtype of the weights; activations are in the dtype of what a layer is handed
  LayerDropout dropout = {};
};

/// Checkpoint names of a layer's modules.
struct TransformerNames {
  std::string query, key, value, distance, attention_out, attention_norm;
  std::string feed_in, feed_out, feed_norm;
};

/// Says how a layer gives its rows.
struct LayerOut {
  DType dtype;
  bool quantized = false;  ///< rows are given as bytes too: what follows reads them
};

/// An encoder layer with its norms behind the residual sums, as BERT's are.
/// Queries have a matrix of their own beside the stacked keys and values, so that the last layer
/// can run them for the read rows alone. On a GPU, where rows of a matrix can be taken as they lie,
/// all three are one, and one product where all rows are wanted.
class TransformerLayer {
 public:
  /// `positions` > 0 declares a table of distances. `lora` may be null.
  TransformerLayer(Parameters& parameters, const TransformerNames& names,
                   const TransformerSizes& sizes, int64_t positions, bool distances_with_keys,
                   const LoraTargets* lora = nullptr);

  /// Says whether the layer's products read rows as bytes.
  bool reads_bytes() const { return sizes_.dtype == DType::i8 || sizes_.dtype == DType::f8; }

  /// Runs the layer for all tokens. `depth` is the layer's place in the encoder, which numbers its
  /// dropout; `kv` is key_value() where that has been computed before.
  Value all(Tape& tape, Value x, const Packing& packing, uint64_t depth, const LayerOut& out,
            std::optional<Value> kv = {}) const;
  /// Runs the layer for the read rows alone: [reads, hidden].
  Value read(Tape& tape, Value x, const Packing& packing, uint64_t depth, const LayerOut& out,
             std::optional<Value> kv = {}) const;
  /// Computes keys and values of all tokens.
  Value key_value(Tape& tape, Value x, const Packing& packing, uint64_t depth) const;

 private:
  struct Sites {
    ops::DropoutSite attention_out;
    ops::DropoutSite feed_out;
    /// Adapters drop at these sites, one a linear layer.
    ops::DropoutSite lora_attention_out;
    ops::DropoutSite lora_feed_in;
    ops::DropoutSite lora_feed_out;
  };
  Value finish(Tape& tape, const ops::AttentionInputs& inputs, Value residual, const Sites& sites,
               const LayerOut& out) const;

  TransformerSizes sizes_;
  std::optional<Linear> qkv_;  ///< is there on a GPU; the next two are then parts of it
  Linear query_;
  Linear key_value_;
  Linear attention_out_;
  LayerNorm attention_norm_;
  Linear feed_in_;
  Linear feed_out_;
  LayerNorm feed_norm_;
  ops::RelativePositions relative_;
};

}  // namespace hone::nn

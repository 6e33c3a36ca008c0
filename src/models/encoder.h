#pragma once

#include <optional>
#include <vector>

#include "models/config.h"
#include "models/family.h"
#include "nn/transformer_layer.h"
#include "ops/embedding.h"
#include "ops/loss.h"
#include "ops/pooling.h"

namespace hone::models {

/// What a plan gives for a batch.
enum class Output {
  logits,     ///< [sequences, labels]
  embedding,  ///< [sequences, hidden], pooled
  hidden,     ///< [tokens, hidden], the last layer
};

struct OutputOptions {
  Output output = Output::logits;
  ops::Pooling pooling = ops::Pooling::mean;  ///< of Output::embedding
  bool normalize = false;                     ///< of Output::embedding
  bool exits = false;  ///< of Output::logits in parts: after every layer that has an exit
};

/// The arrays that a run binds.
struct EncoderInputs {
  Value ids;
  Value types;
  Value positions;
  nn::Packing packing;
};

/// A recorded forward pass.
struct Forward {
  Plan plan;
  EncoderInputs inputs;
  Value output;               ///< fp32
  std::vector<bool> shadows;  ///< by slot: read in another dtype than it is kept in, on a GPU
};

/// A recorded training step: forward, loss and backward, without the optimiser.
struct TrainingStep {
  Plan plan;
  EncoderInputs inputs;
  Value labels;  ///< as ops::LossInputs
  Value scale;
  Value logits;                 ///< fp32 [sequences, labels]
  std::vector<Value> losses;    ///< fp64 [1, 1], the batch's share of the mean; one an exit
  std::vector<bool> shadows;    ///< by slot: read in the options' dtype, not as it is kept
  std::vector<bool> set_slots;  ///< by slot: its gradient is set (=), not added to
  size_t forward_steps = 0;     ///< of the plan; the others are the backward pass
};

/// One of the parts of a forward pass that is cut at the boundaries of the layers, so that
/// sequences may leave between them, and weights come and go.
struct LayerForward {
  Plan plan;
  EncoderInputs inputs;
  Value input;   ///< [tokens, hidden], to be bound, on a GPU resident; none of the embeddings
  Value output;  ///< [tokens, hidden]; of the last layer what was asked for
  std::optional<Value> logits;  ///< fp32 [sequences, labels], of a layer with an exit
  Value key_values;             ///< [tokens, 2 * hidden], between the parts of a SplitLayer alone
  std::vector<bool> shadows;    ///< as Forward's
};

/// A layer with an exit in two parts, where its sequences may leave in between: the row that the
/// exit reads is a fraction of a layer.
struct SplitLayer {
  LayerForward look;  ///< gives `key_values` and `logits`; no output
  LayerForward rest;  ///< takes `key_values`
};

struct TrainingOptions {
  /// Of the products and of the activations between them; bf16 and fp16 read shadows of the
  /// weights, which are fp32. Norms, softmax, loss, head and gradients of weights are fp32.
  DType dtype = DType::f32;
  /// Activation checkpointing: into how many segments the layers are cut, of which memory holds the
  /// inputs alone while the forward pass runs on; at most one a layer. 0: none.
  int64_t checkpoint_segments = 0;
  /// On a GPU: gradients of matrices and tables are set (=), as the first batch of a step may.
  bool set_gradients = false;
};

/// An encoder of one of the families, with its classification head where `with_head`. One
/// definition for every batch: nothing in it knows a token count.
class Encoder {
 public:
  /// `dtype` is that of the products; embeddings are kept in it too, norms and the head in fp32.
  /// Under int8, activations are bf16 where the instruction set multiplies them, else fp32; parts
  /// that config.quantization keeps have weights of that dtype. Under fp8, which is a GPU's,
  /// activations, embeddings and such parts are bf16.
  /// `lora` puts adapters beside the layers that it names.
  Encoder(EncoderConfig config, DType dtype, Isa isa, bool with_head,
          std::optional<nn::LoraOptions> lora = {});

  const EncoderConfig& config() const { return config_; }
  const Family& family() const { return family_; }
  DType dtype() const { return dtype_; }
  DType activations() const { return activations_; }
  bool has_head() const { return head_.has_value(); }
  /// With the family's targets where none were asked for.
  const std::optional<nn::LoraOptions>& lora() const { return lora_; }
  const ops::EmbeddingWeights& embeddings() const { return embeddings_; }
  nn::Parameters& parameters() { return parameters_; }
  const nn::Parameters& parameters() const { return parameters_; }
  /// What a plan for inference reads; `shadows` as it was recorded with.
  WeightArrays weights_for(const std::vector<bool>& shadows) {
    if (!parameters_.on_gpu()) return parameters_.pointers();
    return parameters_.arrays_for(activations_, shadows, false);
  }

  /// The forward pass as a plan. Where only first tokens are read, the last layer runs for them
  /// alone.
  Forward record(const OutputOptions& options) const;
  /// The same in parts: the embeddings, then a layer each, the last with its head or pooling. Bit
  /// for bit the same values.
  std::vector<LayerForward> record_layers(const OutputOptions& options) const;
  /// The layers with exits once more, each in two. Bit for bit the same values. On a processor
  /// alone.
  std::vector<SplitLayer> record_split_layers() const;
  /// A step that adds to the gradients of the slots that `trainable` names.
  TrainingStep record_training(const ops::LossOptions& loss, std::vector<bool> trainable,
                               const TrainingOptions& options = {}) const;

 private:
  static EncoderInputs declare_inputs(Plan& plan);
  /// The last layer's rows: those read, or all tokens'.
  Value hidden(Tape& tape, const EncoderInputs& in, bool first_only,
               const TrainingOptions& options) const;
  /// Layers [begin, end) of the order.
  Value run_layers(Tape& tape, Value x, const nn::Packing& packing, bool first_only, size_t begin,
                   size_t end) const;
  Value run_layer(Tape& tape, Value x, const nn::Packing& packing, bool first_only,
                  size_t depth) const;
  Value embed(Tape& tape, const EncoderInputs& in, DType dtype) const;
  /// What follows the last layer.
  Value finish(Tape& tape, Value x, const EncoderInputs& in, const OutputOptions& options) const;
  Value head_logits(Tape& tape, Value rows, const nn::Packing& packing) const;
  /// How a layer gives its rows; see nn::LayerOut.
  nn::LayerOut layer_out(const Tape& tape, Value x, size_t depth) const;
  /// Of the rows that are read of a layer that is not the last: [reads, hidden].
  Value exit_logits(Tape& tape, Value rows, const nn::Packing& packing, size_t depth) const;
  void add_losses(Tape& tape, const ops::LossOptions& loss, const std::vector<Value>& exits,
                  TrainingStep& step) const;

  struct Head {
    nn::Linear dense;
    nn::Linear out;
  };
  struct Exit {
    std::optional<nn::Linear> dense;  ///< absent: the head's
    nn::Linear out;
  };
  void declare_heads(DType dtype, const nn::LoraTargets* targets);

  EncoderConfig config_;
  const Family& family_;
  DType dtype_;
  DType activations_;
  std::optional<nn::LoraOptions> lora_;
  nn::Parameters parameters_;
  ops::EmbeddingWeights embeddings_;
  std::optional<nn::Linear> projection_;
  std::vector<nn::TransformerLayer> layers_;
  std::vector<size_t> order_;  ///< which of layers_ runs, first to last
  std::optional<Head> head_;
  std::vector<Exit> exits_;  ///< by depth, but for the last layer, whose head is head_
};

}  // namespace hone::models

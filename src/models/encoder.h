#pragma once

#include <optional>
#include <vector>

#include "models/encoder_family.h"
#include "models/model.h"
#include "nn/transformer_layer.h"
#include "ops/embedding.h"

namespace hone::models {

struct EmbeddingGradient;

/// The values of a text batch that an encoder's plans read, by name.
struct EncoderInputs {
  explicit EncoderInputs(const Pass& pass);

  Value ids;
  Value types;
  Value positions;
  nn::Packing packing;
};

/// An encoder of one of the families, with its classification head where it is made with one.
class Encoder : public Model {
 public:
  /// `dtype` is that of the products; embeddings are kept in it too, norms and the head in fp32.
  /// Under int8, activations are bf16 where the instruction set multiplies them, else fp32; parts
  /// that config.quantization keeps have weights of that dtype. Under fp8, which is a GPU's,
  /// activations, embeddings and such parts are bf16.
  /// `lora` puts adapters beside the layers that it names.
  Encoder(EncoderConfig config, const MakeOptions& options);
  Encoder(EncoderConfig config, DType dtype, const Target& target, bool with_head,
          std::optional<nn::LoraOptions> lora = {})
      : Encoder(std::move(config), MakeOptions{dtype, target, with_head, std::move(lora)}) {}

  const EncoderConfig& config() const override { return config_; }
  bool has_head() const override { return head_.has_value(); }
  const ops::EmbeddingWeights& embeddings() const { return embeddings_; }

  const data::BatchLayout& layout() const override { return *data::text_layout(); }
  /// Records a forward pass. Where only first tokens are read, the last layer runs for them alone.
  Pass record(const OutputOptions& request) const override;
  Pass record(const TrainingRequest& request) const override;
  /// Records the embeddings, then a layer each, the last with its head or pooling.
  std::vector<Part> record_parts(const OutputOptions& request) const override;
  std::vector<SplitPart> record_split_parts() const override;
  /// Records what the gradient of a logit by the embeddings takes, on a processor. The config must
  /// say that nothing drops.
  EmbeddingGradient record_gradient() const;

 protected:
  /// Makes the pass' plan one for this encoder, with its inputs.
  void begin(Pass& pass, bool pads_sequences) const;
  /// Gives the last layer's rows: those read, or all tokens'.
  Value hidden(Tape& tape, const EncoderInputs& in, bool first_only,
               const TrainingOptions& options) const;
  /// Gives a sentence's vector, what the head's first layer makes of the rows that are read, which
  /// are in the dtype that heads compute in. `drops`: in training the layer's input is dropped
  /// where the family does that.
  Value sentence(Tape& tape, Value rows, const nn::Packing& packing, bool drops) const;
  bool drops_before_head() const { return encoder_family_.drops_before_head; }
  /// Runs all layers over what the first one reads; gives the rows that hidden() does.
  Value through_layers(Tape& tape, Value x, const nn::Packing& packing, bool first_only) const {
    return run_layers(tape, x, packing, first_only, 0, order_.size());
  }
  /// Begins the pass by which a gradient is taken, and records in it the logits of what the first
  /// layer reads.
  virtual void begin_gradient(Pass& pass) const { begin(pass, false); }
  virtual Value logits_of_rows(Tape& tape, Value rows, EmbeddingGradient& made) const;
  /// Gives the logits of a sentence's vector.
  Value classify(Tape& tape, Value sentence, const nn::Packing& packing) const;

 private:
  /// Runs layers [begin, end) of the order.
  Value run_layers(Tape& tape, Value x, const nn::Packing& packing, bool first_only, size_t begin,
                   size_t end) const;
  Value run_layer(Tape& tape, Value x, const nn::Packing& packing, bool first_only,
                  size_t depth) const;
  Value embed(Tape& tape, const EncoderInputs& in, DType dtype) const;
  /// Records what follows the last layer.
  Value finish(Tape& tape, Value x, const EncoderInputs& in, const OutputOptions& options) const;
  Value head_logits(Tape& tape, Value rows, const nn::Packing& packing) const;
  /// Says how a layer gives its rows; see nn::LayerOut.
  nn::LayerOut layer_out(const Tape& tape, Value x, size_t depth) const;
  /// Gives the logits of an exit from the rows that are read of a layer that is not the last:
  /// [reads, hidden].
  Value exit_logits(Tape& tape, Value rows, const nn::Packing& packing, size_t depth) const;
  void add_losses(Tape& tape, const ops::LossOptions& loss, const std::vector<Value>& exits,
                  Pass& step) const;

  struct Head {
    nn::Linear dense;
    nn::Linear out;
  };
  struct Exit {
    std::optional<nn::Linear> dense;  ///< absent: the head's dense layer serves
    nn::Linear out;
  };
  void declare_heads(DType dtype, const nn::LoraTargets* targets);

  EncoderConfig config_;
  const EncoderFamily& encoder_family_;
  ops::EmbeddingWeights embeddings_;
  std::optional<nn::Linear> projection_;
  std::vector<nn::TransformerLayer> layers_;
  std::vector<size_t> order_;  ///< indices of the layers_ that run, first to last
  std::optional<Head> head_;
  std::vector<Exit> exits_;  ///< by depth, but for the last layer, whose head is head_
};

}  // namespace hone::models

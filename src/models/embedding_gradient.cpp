#include "models/embedding_gradient.h"

#include "base/error.h"
#include "models/encoder.h"
#include "ops/convert.h"

namespace hone::models {
namespace {

bool drops(const EncoderConfig& config) {
  const nn::LayerDropout& layer = config.layer_dropout;
  return config.embedding_dropout > 0 || config.head_dropout > 0 || layer.probabilities > 0 ||
         layer.attention_out > 0 || layer.feed_out > 0;
}

}  // namespace

void drop_nothing(EncoderConfig& config) {
  config.embedding_dropout = config.head_dropout = 0;
  config.layer_dropout = {};
}

EmbeddingGradient Encoder::record_gradient() const {
  if (parameters_.on_gpu() || dtype_ == DType::i8 || drops(config_)) {
    fail(ErrorKind::internal, "a gradient by the embeddings of a model that is not for one");
  }
  EmbeddingGradient made;
  begin(made.embeddings, true);
  Tape embedding(*made.embeddings.plan);
  const Value embedded = embed(embedding, EncoderInputs(made.embeddings), activations_);
  made.embeddings.output = ops::convert(embedding, embedded, DType::f32);
  made.embeddings.plan->keep(made.embeddings.output);
  made.embeddings.shadows = embedding.shadows();

  begin(made.layers, false);
  Plan& plan = *made.layers.plan;
  made.rows = plan.input(DType::f32, nn::kTokens, config_.hidden_size);
  Tape tape(plan, std::vector<bool>(parameters_.list().size(), false));
  tape.on_backward(made.rows, [] {});  // the gradient is to come this far, and ends here
  const nn::Packing packing = EncoderInputs(made.layers).packing;
  const Value rows = ops::convert(tape, made.rows, activations_);
  const Value read = run_layers(tape, rows, packing, true, 0, order_.size());
  made.layers.output = head_logits(tape, read, packing);
  made.direction = plan.input(DType::f32, made.layers.output.rows, made.layers.output.width);
  plan.keep(made.layers.output);
  tape.set_gradient(made.layers.output, made.direction);
  tape.backward();
  made.gradient = *tape.gradient(made.rows);
  plan.keep(made.gradient);
  made.layers.shadows = tape.shadows();
  plan.prune();
  return made;
}

}  // namespace hone::models

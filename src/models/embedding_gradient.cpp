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

Value Encoder::logits_of_rows(Tape& tape, Value rows, EmbeddingGradient& made) const {
  const nn::Packing packing = EncoderInputs(made.layers).packing;
  return head_logits(tape, through_layers(tape, rows, packing, true), packing);
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

  begin_gradient(made.layers);
  Plan& plan = *made.layers.plan;
  made.rows = plan.input(DType::f32, nn::kTokens, config_.hidden_size);
  Tape tape(plan, std::vector<bool>(parameters_.list().size(), false));
  tape.on_backward(made.rows, [] {});  // the gradient is to come this far, and ends here
  const Value rows = ops::convert(tape, made.rows, activations_);
  made.layers.output = logits_of_rows(tape, rows, made);
  made.direction = plan.input(DType::f32, made.layers.output.rows, made.layers.output.width);
  plan.keep(made.layers.output);
  const size_t forward = plan.steps().size();
  tape.set_gradient(made.layers.output, made.direction);
  tape.backward();
  made.gradient = *tape.gradient(made.rows);
  plan.keep(made.gradient);
  made.layers.shadows = tape.shadows();
  made.layers.forward_steps = plan.prune(forward);
  return made;
}

}  // namespace hone::models

#include "models/lstm.h"

#include <cmath>

#include "base/error.h"
#include "models/plain_family.h"
#include "ops/binary_logits.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"
#include "ops/dropout.h"
#include "ops/embedding.h"

namespace hone::models {
namespace {

/// Describes where a packed batch of texts lies.
nn::Packing packing_of(const Pass& pass) {
  nn::Packing packing;
  packing.offsets = pass.inputs[data::kOffsets];
  packing.places = pass.inputs[data::kPlaces];
  packing.reads = pass.inputs[data::kReads];
  packing.read_places = pass.inputs[data::kReadPlaces];
  packing.random = pass.random;
  packing.samples = pass.inputs[data::kSamples];
  packing.read_samples = pass.inputs[data::kReadSamples];
  return packing;
}

}  // namespace

LstmModel::LstmModel(const LstmConfig& config, const MakeOptions& options)
    : Model(family_of(config), plain_options("an lstm", config, options), options.dtype),
      config_(config),
      embedding_(parameters_.table("embedding.weight", config.vocab_size, config.embedding_size,
                                   dtype_of_weights(options))),
      lstm_(parameters_, "lstm",
            {config.embedding_size, config.hidden_size, config.layers, config.dropout,
             dtype_of_weights(options)}) {
  if (!options.with_head) return;
  const DType dtype = ops::accumulator_dtype(options.dtype);
  const int64_t hidden = config.hidden_size;
  head_.emplace(Head{nn::Linear(parameters_, {"dense"}, hidden, hidden, dtype),
                     nn::Linear(parameters_, {"out"}, config.outputs(), hidden, dtype)});
}

std::optional<Initial> LstmModel::initial(const nn::Parameter& parameter) const {
  if (parameter.weight.slot == embedding_.slot) {
    return Initial{.uniform = false, .scale = 1, .zero_row = config_.pad_id};
  }
  // The dense layers have as many inputs as the LSTM has hidden units.
  return Initial{.uniform = true, .scale = 1 / std::sqrt(static_cast<float>(config_.hidden_size))};
}

void LstmModel::begin(Pass& pass, bool pads_sequences) const {
  pass.plan->set_device(parameters_.target().device);
  pass.plan->set_axes(nn::packed_axes(pads_sequences));
  declare_inputs(layout(), pass);
  pass.random = pass.plan->input(DType::i64, Axis::one, 2);
}

Value LstmModel::hidden(Tape& tape, const Pass& pass, DType dtype) const {
  tape.plan().set_scope("embeddings");
  const Value x =
      ops::embed_words(tape, pass.inputs[data::kIds], embedding_, config_.pad_id, dtype);
  return lstm_(tape, x, packing_of(pass), 0);
}

Value LstmModel::logits(Tape& tape, const Pass& pass, Value hidden) const {
  if (!head_) fail(ErrorKind::internal, "logits of an lstm without a head");
  const nn::Packing packing = packing_of(pass);
  tape.plan().set_scope("head");
  Value x = ops::gather_rows(tape, hidden, packing.reads);
  const DType dtype = ops::accumulator_dtype(x.dtype);
  x = ops::convert(tape, x, dtype);
  const auto site = static_cast<uint64_t>(config_.layers);  // the first behind the layers
  x = ops::dropout(tape, x, packing.drop_read(config_.dropout, site));
  x = head_->dense(tape, x, {.activation = kernels::Activation::relu, .out = dtype});
  x = head_->out(tape, x, {.out = dtype});
  return config_.is_binary() ? ops::binary_logits(tape, x) : x;
}

Pass LstmModel::record(const OutputOptions& request) const {
  Pass pass;
  begin(pass, true);
  Tape tape(*pass.plan);
  Value x = hidden(tape, pass, activations_);
  if (request.output == Output::logits) {
    x = logits(tape, pass, x);
  } else if (request.output == Output::embedding && request.pooling == ops::Pooling::cls) {
    x = ops::gather_rows(tape, x, pass.inputs[data::kReads]);  // the state that the head reads
  }
  x = ops::convert(tape, x, DType::f32);
  if (request.output == Output::embedding) {
    if (request.pooling != ops::Pooling::cls) {
      x = ops::pool(tape, x, pass.inputs[data::kOffsets], request.pooling);
    }
    if (request.normalize) x = ops::normalize_rows(tape, x);
  }
  pass.output = x;
  pass.plan->keep(pass.output);
  pass.shadows = tape.shadows();
  return pass;
}

Pass LstmModel::record(const TrainingRequest& request) const {
  const TrainingOptions& options = request.options;
  if (options.checkpoint_segments > 0) {
    fail(ErrorKind::unsupported, "checkpoint_segments: an lstm keeps all its activations");
  }
  Pass step;
  begin(step, false);
  Tape tape(*step.plan, request.trainable);
  if (options.set_gradients) tape.set_gradients();
  step.output = logits(tape, step, hidden(tape, step, options.dtype));
  declare_labels(request.loss, nn::kSequences, step);
  record_losses(tape, options.dtype, step, [&] {
    const ops::LossInputs inputs = loss_inputs(step.output, request.loss, step);
    step.losses = {{"logits", ops::loss(tape, inputs, request.loss)}};
  });
  return step;
}

}  // namespace hone::models

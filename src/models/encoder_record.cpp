#include <algorithm>
#include <string>

#include "base/error.h"
#include "models/encoder.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"
#include "ops/dropout.h"
#include "ops/half.h"

namespace hone::models {

EncoderInputs Encoder::declare_inputs(Plan& plan) {
  const auto indices = [&](Axis rows, Filler filler = Filler::zero) {
    return plan.input(DType::i32, rows, 1, filler);
  };
  const auto numbers = [&](Axis rows, int64_t width) {
    return plan.input(DType::i64, rows, width);
  };
  EncoderInputs in;
  in.ids = indices(Axis::tokens);
  in.types = indices(Axis::tokens);
  in.positions = indices(Axis::tokens);
  in.packing = {.offsets = indices(Axis::sequences, Filler::last),
                .places = indices(Axis::tokens),
                .reads = indices(Axis::reads, Filler::minus_one),
                .read_offsets = indices(Axis::sequences, Filler::last),
                .read_places = indices(Axis::reads),
                .random = numbers(Axis::one, 2),
                .samples = numbers(Axis::tokens, 1),
                .read_samples = numbers(Axis::reads, 1)};
  return in;
}

nn::LayerOut Encoder::layer_out(const Tape& tape, Value x, size_t depth) const {
  const bool last = depth + 1 == order_.size();
  // Training's backward pass wants the last rows in the layer's own dtype.
  const bool widens = last && !tape.training() && !tape.gpu();
  const DType dtype = widens ? ops::wide_dtype(x.dtype) : x.dtype;
  return {dtype, !last && layers_[order_[depth + 1]].reads_bytes()};
}

Value Encoder::run_layer(Tape& tape, Value x, const nn::Packing& packing, bool first_only,
                         size_t depth) const {
  tape.plan().set_scope("layer " + std::to_string(depth));
  const nn::TransformerLayer& layer = layers_[order_[depth]];
  const bool last = depth + 1 == order_.size();
  const nn::LayerOut out = layer_out(tape, x, depth);
  return last && first_only ? layer.read(tape, x, packing, depth, out)
                            : layer.all(tape, x, packing, depth, out);
}

Value Encoder::run_layers(Tape& tape, Value x, const nn::Packing& packing, bool first_only,
                          size_t begin, size_t end) const {
  for (size_t depth = begin; depth < end; ++depth) {
    x = run_layer(tape, x, packing, first_only, depth);
  }
  return x;
}

Value Encoder::embed(Tape& tape, const EncoderInputs& in, DType dtype) const {
  tape.plan().set_scope("embeddings");
  const Value x = ops::embed_tokens(tape, {in.ids, in.positions, in.types}, embeddings_, dtype,
                                    in.packing.drop(config_.embedding_dropout, 0));
  if (!projection_) return x;
  const uint64_t outside = order_.size();  // of the layers, where adapters drop
  return (*projection_)(tape, x, {.out = dtype}, in.packing.drop(0, nn::lora_site(outside, 0)));
}

Value Encoder::hidden(Tape& tape, const EncoderInputs& in, bool first_only,
                      const TrainingOptions& options) const {
  const nn::Packing& packing = in.packing;
  Value x = embed(tape, in, options.dtype);
  const size_t count = order_.size();
  const size_t cuts = std::min(static_cast<size_t>(options.checkpoint_segments), count);
  for (size_t i = 0; i < cuts; ++i) {
    const size_t begin = i * count / cuts;
    const size_t end = (i + 1) * count / cuts;
    x = tape.checkpoint(x, [this, &tape, packing, first_only, begin, end](Value input) {
      return run_layers(tape, input, packing, first_only, begin, end);
    });
  }
  return cuts == 0 ? run_layers(tape, x, packing, first_only, 0, count) : x;
}

namespace {

/// What heads compute in: fp32 on a processor; a GPU's products want the layers' own.
DType head_dtype(const Tape& tape, Value rows) {
  return tape.gpu() ? rows.dtype : ops::wide_dtype(rows.dtype);
}

}  // namespace

Value Encoder::head_logits(Tape& tape, Value rows, const nn::Packing& packing) const {
  if (!head_) fail(ErrorKind::internal, "logits of an encoder without a head");
  // Behind the sites of all layers.
  const uint64_t site = 4 * (order_.size() + 1);
  const float p = config_.head_dropout;
  const DType wide = head_dtype(tape, rows);
  Value x = ops::convert(tape, rows, wide);  // still of the layer
  tape.plan().set_scope("head");
  if (family_.drops_before_head) x = ops::dropout(tape, x, packing.drop_read(p, site));
  x = head_->dense(tape, x, {.activation = family_.head_activation, .out = wide},
                   packing.drop_read(0, nn::lora_site(order_.size(), 1)));
  x = ops::dropout(tape, x, packing.drop_read(p, site + 1));
  return head_->out(tape, x, {.out = ops::wide_dtype(wide)});
}

Value Encoder::exit_logits(Tape& tape, Value rows, const nn::Packing& packing, size_t depth) const {
  const Exit& exit = exits_[depth];
  // Behind those of the head.
  const uint64_t site = 4 * (order_.size() + 1) + 2 * (depth + 1);
  const float p = config_.head_dropout;
  const DType wide = head_dtype(tape, rows);
  tape.plan().set_scope("exit " + std::to_string(depth));
  Value x = ops::convert(tape, rows, wide);
  if (family_.drops_before_head) x = ops::dropout(tape, x, packing.drop_read(p, site));
  const nn::Linear& dense = exit.dense ? *exit.dense : head_->dense;
  // DeeBERT's off-ramps are of its own kind in every family.
  const auto activation = exit.dense ? kernels::Activation::tanh : family_.head_activation;
  x = dense(tape, x, {.activation = activation, .out = wide},
            packing.drop_read(0, nn::lora_site(order_.size(), 2 + depth)));
  x = ops::dropout(tape, x, packing.drop_read(p, site + 1));
  return exit.out(tape, x, {.out = ops::wide_dtype(wide)});
}

Value Encoder::finish(Tape& tape, Value x, const EncoderInputs& in,
                      const OutputOptions& options) const {
  if (options.output == Output::logits) return head_logits(tape, x, in.packing);
  x = ops::convert(tape, x, ops::wide_dtype(x.dtype));
  if (options.output == Output::hidden) return x;
  if (options.pooling != ops::Pooling::cls) {
    x = ops::pool(tape, x, in.packing.offsets, options.pooling);
  }
  return options.normalize ? ops::normalize_rows(tape, x) : x;
}

namespace {

/// Whether only the first token of the last layer is read.
bool reads_first_only(const OutputOptions& options) {
  return options.output == Output::logits ||
         (options.output == Output::embedding && options.pooling == ops::Pooling::cls);
}

}  // namespace

Forward Encoder::record(const OutputOptions& options) const {
  Forward forward;
  forward.plan.set_gpu(parameters_.on_gpu());
  forward.plan.set_pads_sequences();
  Tape tape(forward.plan);
  forward.inputs = declare_inputs(forward.plan);
  const Value x = hidden(tape, forward.inputs, reads_first_only(options), {.dtype = activations_});
  forward.output = finish(tape, x, forward.inputs, options);
  forward.plan.keep(forward.output);
  forward.shadows = tape.shadows();
  return forward;
}

std::vector<LayerForward> Encoder::record_layers(const OutputOptions& options) const {
  std::vector<LayerForward> parts(order_.size() + 1);
  Value x;
  for (size_t i = 0; i < parts.size(); ++i) {
    LayerForward& part = parts[i];
    part.plan.set_gpu(parameters_.on_gpu());
    part.plan.set_pads_sequences();
    Tape tape(part.plan);
    part.inputs = declare_inputs(part.plan);
    if (i == 0) {
      x = embed(tape, part.inputs, activations_);
    } else {
      part.input = part.plan.resident(x.dtype, x.rows, x.width);
      x = run_layer(tape, part.input, part.inputs.packing, reads_first_only(options), i - 1);
    }
    if (i + 1 == parts.size()) {
      x = finish(tape, x, part.inputs, options);
    } else if (i > 0 && options.output == Output::logits && options.exits && !exits_.empty()) {
      const nn::Packing& packing = part.inputs.packing;
      part.logits = exit_logits(tape, ops::gather_rows(tape, x, packing.reads), packing, i - 1);
      part.plan.keep(*part.logits);
    }
    part.output = x;
    part.plan.keep(x);
    part.shadows = tape.shadows();
  }
  return parts;
}

std::vector<SplitLayer> Encoder::record_split_layers() const {
  std::vector<SplitLayer> layers(exits_.size());
  for (size_t depth = 0; depth < layers.size(); ++depth) {
    const nn::TransformerLayer& layer = layers_[order_[depth]];
    const auto begin = [&](LayerForward& part) {
      part.inputs = declare_inputs(part.plan);
      part.input = part.plan.input(activations_, Axis::tokens, config_.hidden_size);
      part.plan.set_scope("layer " + std::to_string(depth));
    };
    LayerForward& look = layers[depth].look;
    begin(look);
    Tape looking(look.plan);
    const nn::Packing& packing = look.inputs.packing;
    look.key_values = layer.key_value(looking, look.input, packing, depth);
    look.plan.keep(look.key_values);
    const Value rows =
        layer.read(looking, look.input, packing, depth, {look.input.dtype}, look.key_values);
    look.logits = exit_logits(looking, rows, packing, depth);
    look.plan.keep(*look.logits);

    LayerForward& rest = layers[depth].rest;
    begin(rest);
    Tape resting(rest.plan);
    rest.key_values =
        rest.plan.input(look.key_values.dtype, look.key_values.rows, look.key_values.width);
    rest.output = layer.all(resting, rest.input, rest.inputs.packing, depth,
                            layer_out(resting, rest.input, depth), rest.key_values);
    rest.plan.keep(rest.output);
  }
  return layers;
}

void Encoder::add_losses(Tape& tape, const ops::LossOptions& loss, const std::vector<Value>& exits,
                         TrainingStep& step) const {
  step.plan.set_scope("loss");
  const auto add = [&](Value logits, double weight) {
    ops::LossOptions weighed = loss;
    weighed.weight = weight;
    step.losses.push_back(ops::loss(tape, {logits, step.labels, step.scale}, weighed));
  };
  const auto count = static_cast<double>(order_.size());
  for (size_t i = 0; i < exits.size(); ++i) {
    // PABEE weighs layer i by i, DeeBERT all alike.
    const bool pabee = config_.exits.method == ExitMethod::pabee;
    add(exits[i], pabee ? 2 * static_cast<double>(i + 1) / (count * (count + 1)) : 1);
  }
  // DeeBERT's last layer is trained before its exits are.
  if (exits.empty()) add(step.logits, 1);
  if (config_.exits.method == ExitMethod::pabee) add(step.logits, 2 / (count + 1));
}

TrainingStep Encoder::record_training(const ops::LossOptions& loss, std::vector<bool> trainable,
                                      const TrainingOptions& options) const {
  TrainingStep step;
  step.plan.set_gpu(parameters_.on_gpu());
  Tape tape(step.plan, std::move(trainable));
  if (options.set_gradients) tape.set_gradients();
  step.inputs = declare_inputs(step.plan);
  std::vector<Value> exits;
  if (exits_.empty()) {
    step.logits = head_logits(tape, hidden(tape, step.inputs, true, options), step.inputs.packing);
  } else {
    if (options.checkpoint_segments > 0) {
      fail(ErrorKind::unsupported, "--gradient_checkpointing: not together with early exits");
    }
    Value x = embed(tape, step.inputs, options.dtype);
    for (size_t depth = 0; depth < order_.size(); ++depth) {
      x = run_layer(tape, x, step.inputs.packing, true, depth);
      if (depth == exits_.size()) break;
      const nn::Packing& packing = step.inputs.packing;
      exits.push_back(exit_logits(tape, ops::gather_rows(tape, x, packing.reads), packing, depth));
    }
    step.logits = head_logits(tape, x, step.inputs.packing);
  }
  const bool classes = loss.kind == ops::LossKind::cross_entropy;
  step.labels = step.plan.input(classes ? DType::i32 : step.logits.dtype, Axis::sequences,
                                classes ? 1 : step.logits.width, Filler::minus_one);
  step.scale = step.plan.input(DType::f64, Axis::one, 2);
  add_losses(tape, loss, exits, step);
  step.plan.keep(step.logits);
  const size_t after = step.plan.steps().size();
  tape.backward();
  step.shadows = tape.shadows();
  step.set_slots = tape.set_slots();
  step.forward_steps = step.plan.prune(after);
  if (options.dtype == DType::f16 && !step.plan.gpu()) ops::round_halves(step.plan);
  return step;
}

}  // namespace hone::models

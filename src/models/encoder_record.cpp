#include <algorithm>
#include <string>

#include "base/error.h"
#include "models/encoder.h"
#include "ops/adaptive_loss.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"
#include "ops/dropout.h"

namespace hone::models {

EncoderInputs::EncoderInputs(const Pass& pass)
    : ids(pass.inputs[data::kIds]),
      types(pass.inputs[data::kTypes]),
      positions(pass.inputs[data::kPositions]),
      packing{.offsets = pass.inputs[data::kOffsets],
              .places = pass.inputs[data::kPlaces],
              .reads = pass.inputs[data::kReads],
              .read_offsets = pass.inputs[data::kReadOffsets],
              .read_places = pass.inputs[data::kReadPlaces],
              .random = pass.random,
              .samples = pass.inputs[data::kSamples],
              .read_samples = pass.inputs[data::kReadSamples]} {}

void Encoder::begin(Pass& pass, bool pads_sequences) const {
  pass.plan->set_device(parameters_.target().device);
  pass.plan->set_axes(nn::packed_axes(pads_sequences));
  declare_inputs(*data::text_layout(), pass);
  pass.random = pass.plan->input(DType::i64, Axis::one, 2);
}

nn::LayerOut Encoder::layer_out(const Tape& tape, Value x, size_t depth) const {
  const bool last = depth + 1 == order_.size();
  // Training's backward pass wants the last rows in the layer's own dtype.
  const bool widens = last && !tape.training() && !tape.gpu();
  const DType dtype = widens ? ops::accumulator_dtype(x.dtype) : x.dtype;
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
  const uint64_t outside = order_.size();  // adapters outside the layers drop at this depth
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
  return cuts == 0 ? through_layers(tape, x, packing, first_only) : x;
}

namespace {

/// Gives the dtype that heads compute in: fp32 on a processor; a GPU's products want the layers'
/// own.
DType head_dtype(const Tape& tape, Value rows) {
  return tape.gpu() ? rows.dtype : ops::accumulator_dtype(rows.dtype);
}

}  // namespace

Value Encoder::sentence(Tape& tape, Value rows, const nn::Packing& packing, bool drops) const {
  if (!head_) fail(ErrorKind::internal, "logits of an encoder without a head");
  // The head's sites are numbered behind those of all layers.
  const auto site = packing.drop_read(config_.head_dropout, 4 * (order_.size() + 1));
  if (drops && encoder_family_.drops_before_head) rows = ops::dropout(tape, rows, site);
  return head_->dense(tape, rows,
                      {.activation = encoder_family_.head_activation, .out = rows.dtype},
                      packing.drop_read(0, nn::lora_site(order_.size(), 1)));
}

Value Encoder::classify(Tape& tape, Value sentence, const nn::Packing& packing) const {
  const auto site = packing.drop_read(config_.head_dropout, 4 * (order_.size() + 1) + 1);
  const Value dropped = ops::dropout(tape, sentence, site);
  return head_->out(tape, dropped, {.out = ops::accumulator_dtype(sentence.dtype)});
}

Value Encoder::head_logits(Tape& tape, Value rows, const nn::Packing& packing) const {
  // The conversion belongs to the layer's scope still.
  const Value converted = ops::convert(tape, rows, head_dtype(tape, rows));
  tape.plan().set_scope("head");
  return classify(tape, sentence(tape, converted, packing, true), packing);
}

Value Encoder::exit_logits(Tape& tape, Value rows, const nn::Packing& packing, size_t depth) const {
  const Exit& exit = exits_[depth];
  // The exits' sites are numbered behind those of the head.
  const uint64_t site = 4 * (order_.size() + 1) + 2 * (depth + 1);
  const float p = config_.head_dropout;
  const DType dtype = head_dtype(tape, rows);
  tape.plan().set_scope("exit " + std::to_string(depth));
  Value x = ops::convert(tape, rows, dtype);
  if (encoder_family_.drops_before_head) x = ops::dropout(tape, x, packing.drop_read(p, site));
  const nn::Linear& dense = exit.dense ? *exit.dense : head_->dense;
  // DeeBERT's off-ramps are of its own kind in every family.
  const auto activation = exit.dense ? kernels::Activation::tanh : encoder_family_.head_activation;
  x = dense(tape, x, {.activation = activation, .out = dtype},
            packing.drop_read(0, nn::lora_site(order_.size(), 2 + depth)));
  x = ops::dropout(tape, x, packing.drop_read(p, site + 1));
  return exit.out(tape, x, {.out = ops::accumulator_dtype(dtype)});
}

Value Encoder::finish(Tape& tape, Value x, const EncoderInputs& in,
                      const OutputOptions& options) const {
  if (options.output == Output::logits) return head_logits(tape, x, in.packing);
  x = ops::convert(tape, x, ops::accumulator_dtype(x.dtype));
  if (options.output == Output::hidden) return x;
  if (options.pooling != ops::Pooling::cls) {
    x = ops::pool(tape, x, in.packing.offsets, options.pooling);
  }
  return options.normalize ? ops::normalize_rows(tape, x) : x;
}

namespace {

/// Says whether only the first token of the last layer is read.
bool reads_first_only(const OutputOptions& options) {
  return options.output == Output::logits ||
         (options.output == Output::embedding && options.pooling == ops::Pooling::cls);
}

}  // namespace

Pass Encoder::record(const OutputOptions& options) const {
  Pass forward;
  begin(forward, true);
  Tape tape(*forward.plan);
  const EncoderInputs in(forward);
  const Value x = hidden(tape, in, reads_first_only(options), {.dtype = activations_});
  forward.output = finish(tape, x, in, options);
  forward.plan->keep(forward.output);
  forward.shadows = tape.shadows();
  return forward;
}

std::vector<Part> Encoder::record_parts(const OutputOptions& options) const {
  std::vector<Part> parts(order_.size() + 1);
  Value x;
  for (size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    begin(part, true);
    Tape tape(*part.plan);
    const EncoderInputs in(part);
    if (i == 0) {
      x = embed(tape, in, activations_);
    } else {
      part.input = part.plan->resident(x.dtype, x.rows, x.width);
      x = run_layer(tape, part.input, in.packing, reads_first_only(options), i - 1);
    }
    if (i + 1 == parts.size()) {
      x = finish(tape, x, in, options);
    } else if (i > 0 && options.output == Output::logits && options.exits && !exits_.empty()) {
      const Value rows = ops::gather_rows(tape, x, in.packing.reads);
      part.exit = exit_logits(tape, rows, in.packing, i - 1);
      part.plan->keep(*part.exit);
    }
    part.output = x;
    part.plan->keep(x);
    part.shadows = tape.shadows();
  }
  return parts;
}

std::vector<SplitPart> Encoder::record_split_parts() const {
  if (parameters_.on_gpu()) return {};
  std::vector<SplitPart> parts(exits_.size());
  for (size_t depth = 0; depth < parts.size(); ++depth) {
    const nn::TransformerLayer& layer = layers_[order_[depth]];
    const auto begin_part = [&](Part& part) {
      begin(part, true);
      part.input = part.plan->input(activations_, nn::kTokens, config_.hidden_size);
      part.plan->set_scope("layer " + std::to_string(depth));
    };
    Part& first = parts[depth].exit_part;
    begin_part(first);
    Tape tape(*first.plan);
    const nn::Packing packing = EncoderInputs(first).packing;
    first.carried = layer.key_value(tape, first.input, packing, depth);
    first.plan->keep(first.carried);
    const Value rows =
        layer.read(tape, first.input, packing, depth, {first.input.dtype}, first.carried);
    first.exit = exit_logits(tape, rows, packing, depth);
    first.plan->keep(*first.exit);

    Part& second = parts[depth].remainder;
    begin_part(second);
    Tape remaining(*second.plan);
    second.carried =
        second.plan->input(first.carried.dtype, first.carried.rows, first.carried.width);
    second.output = layer.all(remaining, second.input, EncoderInputs(second).packing, depth,
                              layer_out(remaining, second.input, depth), second.carried);
    second.plan->keep(second.output);
  }
  return parts;
}

void Encoder::add_losses(Tape& tape, const ops::LossOptions& loss, const std::vector<Value>& exits,
                         Pass& step) const {
  const auto add = [&](std::string name, Value logits, double weight) {
    ops::LossOptions weighed = loss;
    weighed.weight = weight;
    ops::LossInputs inputs = loss_inputs(logits, loss, step);
    // The last layer teaches the exits, and learns from the labels alone.
    const bool taught_by_last = loss.distill.self && logits.id != step.output.id;
    if (taught_by_last) inputs.teacher = step.output;
    step.losses.push_back({std::move(name), ops::loss(tape, inputs, weighed)});
  };
  if (config_.exits.method == ExitMethod::adaptive) {
    const ops::LossInputs inputs{step.output, step.labels, step.scale};
    step.losses.push_back({"exits", ops::adaptive_loss(tape, exits, inputs, loss)});
    return;
  }
  const auto count = static_cast<double>(order_.size());
  for (size_t i = 0; i < exits.size(); ++i) {
    // PABEE weighs layer i by i, DeeBERT all alike.
    const bool pabee = config_.exits.method == ExitMethod::pabee;
    add("exit " + std::to_string(i), exits[i],
        pabee ? 2 * static_cast<double>(i + 1) / (count * (count + 1)) : 1);
  }
  // DeeBERT's last layer is trained before its exits are.
  if (exits.empty()) add("logits", step.output, 1);
  if (config_.exits.method == ExitMethod::pabee) add("logits", step.output, 2 / (count + 1));
}

Pass Encoder::record(const TrainingRequest& request) const {
  const TrainingOptions& options = request.options;
  Pass step;
  begin(step, false);
  Tape tape(*step.plan, request.trainable);
  if (options.set_gradients) tape.set_gradients();
  const EncoderInputs in(step);
  std::vector<Value> exits;
  if (exits_.empty()) {
    step.output = head_logits(tape, hidden(tape, in, true, options), in.packing);
  } else {
    if (options.checkpoint_segments > 0) {
      fail(ErrorKind::unsupported, "checkpoint_segments: not together with early exits");
    }
    Value x = embed(tape, in, options.dtype);
    for (size_t depth = 0; depth < order_.size(); ++depth) {
      x = run_layer(tape, x, in.packing, true, depth);
      if (depth == exits_.size()) break;
      const Value rows = ops::gather_rows(tape, x, in.packing.reads);
      exits.push_back(exit_logits(tape, rows, in.packing, depth));
    }
    step.output = head_logits(tape, x, in.packing);
  }
  declare_labels(request.loss, nn::kSequences, step);
  record_losses(tape, options.dtype, step, [&] { add_losses(tape, request.loss, exits, step); });
  return step;
}

}  // namespace hone::models

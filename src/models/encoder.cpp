#include "models/encoder.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "models/int8.h"
#include "models/lora_targets.h"
#include "nn/layer_norm.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"
#include "ops/dropout.h"
#include "ops/half.h"

namespace hone::models {
namespace {

std::string fill(std::string_view pattern, std::string_view name, int64_t index) {
  std::string out(pattern);
  const std::string mark = "{" + std::string(name) + "}";
  const size_t at = out.find(mark);
  if (at != std::string::npos) out.replace(at, mark.size(), std::to_string(index));
  return out;
}

/// Where a layer's weights lie in a checkpoint.
struct LayerPlace {
  int64_t layer;
  int64_t group;
  int64_t inner;

  std::string operator()(std::string_view pattern) const {
    return fill(fill(fill(pattern, "layer", layer), "group", group), "inner", inner);
  }
};

/// The distinct sets of layer weights, in the order of their first use.
std::vector<LayerPlace> layer_places(const EncoderConfig& config) {
  std::vector<LayerPlace> places;
  const int64_t groups = config.layer_groups > 0 ? config.layer_groups : config.layers;
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t inner = 0; inner < config.layers_a_group; ++inner) {
      places.push_back({group, group, inner});
    }
  }
  return places;
}

std::vector<size_t> layer_order(const EncoderConfig& config) {
  std::vector<size_t> order;
  const int64_t groups = config.layer_groups > 0 ? config.layer_groups : config.layers;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const int64_t group = layer * groups / config.layers;
    for (int64_t inner = 0; inner < config.layers_a_group; ++inner) {
      order.push_back(static_cast<size_t>(group * config.layers_a_group + inner));
    }
  }
  return order;
}

nn::TransformerNames names_at(const WeightNames& names, const LayerPlace& at) {
  return {.query = at(names.query),
          .key = at(names.key),
          .value = at(names.value),
          .distance = at(names.distance),
          .attention_out = at(names.attention_out),
          .attention_norm = at(names.attention_norm),
          .feed_in = at(names.feed_in),
          .feed_out = at(names.feed_out),
          .feed_norm = at(names.feed_norm)};
}

ops::EmbeddingWeights declare_embeddings(nn::Parameters& parameters, const EncoderConfig& config,
                                         const WeightNames& names, DType dtype) {
  const auto table = [&](std::string_view name, int64_t rows) {
    return parameters.table(std::string(name) + ".weight", rows, config.embedding_size, dtype);
  };
  ops::EmbeddingWeights weights{};
  weights.word = table(names.word, config.vocab_size);
  if (config.position_kind == PositionKind::absolute) {
    weights.position = table(names.position, config.positions);
  }
  if (config.type_vocab_size > 0) weights.type = table(names.type, config.type_vocab_size);
  weights.norm = nn::LayerNorm(parameters, std::string(names.embedding_norm), config.embedding_size,
                               config.layer_norm_eps)
                     .parameters();
  return weights;
}

DType activations_of(DType dtype, Isa isa) {
  if (dtype != DType::i8) return dtype;
  return isa >= Isa::avx512_bf16 ? DType::bf16 : DType::f32;
}

/// Of a part's weights.
DType weights_of(const EncoderConfig& config, std::string_view part, DType dtype, Isa isa) {
  return config.quantization.keeps(part) ? activations_of(dtype, isa) : dtype;
}

}  // namespace

Encoder::Encoder(EncoderConfig config, DType dtype, Isa isa, bool with_head,
                 std::optional<nn::LoraOptions> lora)
    : config_(std::move(config)),
      family_(family_of(config_)),
      dtype_(dtype),
      activations_(activations_of(dtype, isa)),
      parameters_(isa),
      embeddings_(declare_embeddings(parameters_, config_, family_.names,
                                     weights_of(config_, kEmbeddingsPart, dtype, isa))),
      order_(layer_order(config_)) {
  const WeightNames& names = family_.names;
  std::optional<LoraMatcher> matcher;
  if (lora) {
    lora_ = checked_lora(family_, std::move(*lora));
    matcher.emplace(family_, *lora_);
  }
  const nn::LoraTargets* targets = matcher ? matcher->targets() : nullptr;
  if (!names.embedding_projection.empty()) {
    projection_.emplace(parameters_, std::vector{std::string(names.embedding_projection)},
                        config_.hidden_size, config_.embedding_size,
                        weights_of(config_, kEmbeddingsPart, dtype, isa), targets);
  }
  nn::TransformerSizes sizes{
      config_.hidden_size,    config_.heads, config_.intermediate_size, config_.activation,
      config_.layer_norm_eps, dtype,         config_.layer_dropout};
  const int64_t distances = config_.position_kind == PositionKind::absolute ? 0 : config_.positions;
  const bool with_keys = config_.position_kind == PositionKind::relative_key_query;
  for (const LayerPlace& place : layer_places(config_)) {
    sizes.dtype = weights_of(config_, layer_part(layers_.size()), dtype, isa);
    layers_.emplace_back(parameters_, names_at(names, place), sizes, distances, with_keys, targets);
  }
  if (with_head) {
    const auto labels = static_cast<int64_t>(config_.labels.size());
    head_.emplace(Head{nn::Linear(parameters_, {std::string(names.head_dense)}, config_.hidden_size,
                                  config_.hidden_size, ops::wide_dtype(dtype),
                                  family_.has_pooler ? targets : nullptr),
                       nn::Linear(parameters_, {std::string(names.head_out)}, labels,
                                  config_.hidden_size, ops::wide_dtype(dtype))});
  }
  if (matcher) matcher->check();
}

EncoderInputs Encoder::declare_inputs(Plan& plan) {
  const auto indices = [&](Axis rows) { return plan.input(DType::i32, rows, 1); };
  const auto numbers = [&](Axis rows, int64_t width) {
    return plan.input(DType::i64, rows, width);
  };
  EncoderInputs in;
  in.ids = indices(Axis::tokens);
  in.types = indices(Axis::tokens);
  in.positions = indices(Axis::tokens);
  in.packing = {.offsets = indices(Axis::sequences),
                .places = indices(Axis::tokens),
                .reads = indices(Axis::reads),
                .read_offsets = indices(Axis::sequences),
                .read_places = indices(Axis::reads),
                .random = numbers(Axis::one, 2),
                .samples = numbers(Axis::tokens, 1),
                .read_samples = numbers(Axis::reads, 1)};
  return in;
}

Value Encoder::run_layers(Tape& tape, Value x, const nn::Packing& packing, bool first_only,
                          size_t begin, size_t end) const {
  for (size_t depth = begin; depth < end; ++depth) {
    tape.plan().set_scope("layer " + std::to_string(depth));
    const nn::TransformerLayer& layer = layers_[order_[depth]];
    const bool last = depth + 1 == order_.size();
    // Training's backward pass wants the last rows in the layer's own dtype.
    const DType dtype = last && !tape.training() ? ops::wide_dtype(x.dtype) : x.dtype;
    const nn::LayerOut out{dtype, !last && layers_[order_[depth + 1]].weights() == DType::i8};
    x = last && first_only ? layer.read(tape, x, packing, depth, out)
                           : layer.all(tape, x, packing, depth, out);
  }
  return x;
}

Value Encoder::hidden(Tape& tape, const EncoderInputs& in, bool first_only,
                      const TrainingOptions& options) const {
  const DType dtype = options.dtype;
  const nn::Packing& packing = in.packing;
  tape.plan().set_scope("embeddings");
  Value x = ops::embed_tokens(tape, {in.ids, in.positions, in.types}, embeddings_, dtype);
  x = ops::dropout(tape, x, packing.drop(config_.embedding_dropout, 0));
  if (projection_) {
    const uint64_t outside = order_.size();  // of the layers, where adapters drop
    x = (*projection_)(tape, x, {.out = dtype}, packing.drop(0, nn::lora_site(outside, 0)));
  }
  const size_t count = order_.size();
  const size_t cuts = std::min(static_cast<size_t>(options.checkpoint_segments), count);
  for (size_t i = 0; i < cuts; ++i) {
    const size_t begin = i * count / cuts;
    const size_t end = (i + 1) * count / cuts;
    x = tape.checkpoint(x, [this, &tape, packing, first_only, begin, end](Value input) {
      return run_layers(tape, input, packing, first_only, begin, end);
    });
  }
  if (cuts == 0) x = run_layers(tape, x, packing, first_only, 0, count);
  return ops::convert(tape, x, ops::wide_dtype(dtype));
}

Value Encoder::logits(Tape& tape, const EncoderInputs& in, const TrainingOptions& options) const {
  if (!head_) fail(ErrorKind::internal, "logits of an encoder without a head");
  // Behind the sites of all layers.
  const uint64_t site = 4 * (order_.size() + 1);
  const float p = config_.head_dropout;
  const DType wide = ops::wide_dtype(options.dtype);
  Value x = hidden(tape, in, true, options);
  tape.plan().set_scope("head");
  if (family_.drops_before_head) x = ops::dropout(tape, x, in.packing.drop_read(p, site));
  x = head_->dense(tape, x, {.activation = family_.head_activation, .out = wide},
                   in.packing.drop_read(0, nn::lora_site(order_.size(), 1)));
  x = ops::dropout(tape, x, in.packing.drop_read(p, site + 1));
  return head_->out(tape, x, {.out = wide});
}

Forward Encoder::record(const OutputOptions& options) const {
  Forward forward;
  Tape tape(forward.plan);
  forward.inputs = declare_inputs(forward.plan);
  const EncoderInputs& in = forward.inputs;
  if (options.output == Output::logits) {
    forward.output = logits(tape, in, {.dtype = activations_});
  } else {
    const bool first_only =
        options.output == Output::embedding && options.pooling == ops::Pooling::cls;
    Value x = hidden(tape, in, first_only, {.dtype = activations_});
    if (options.output == Output::embedding) {
      if (!first_only) x = ops::pool(tape, x, in.packing.offsets, options.pooling);
      if (options.normalize) x = ops::normalize_rows(tape, x);
    }
    forward.output = x;
  }
  forward.plan.keep(forward.output);
  return forward;
}

TrainingStep Encoder::record_training(const ops::LossOptions& loss, std::vector<bool> trainable,
                                      const TrainingOptions& options) const {
  TrainingStep step;
  Tape tape(step.plan, std::move(trainable));
  step.inputs = declare_inputs(step.plan);
  step.logits = logits(tape, step.inputs, options);
  const bool classes = loss.kind == ops::LossKind::cross_entropy;
  step.labels = step.plan.input(classes ? DType::i32 : step.logits.dtype, Axis::sequences,
                                classes ? 1 : step.logits.width);
  step.scale = step.plan.input(DType::f64, Axis::one, 2);
  step.plan.set_scope("loss");
  step.loss = ops::loss(tape, {step.logits, step.labels, step.scale}, loss);
  step.plan.keep(step.logits);
  const size_t after = step.plan.steps().size();
  tape.backward();
  step.shadows = tape.shadows();
  step.forward_steps = step.plan.prune(after);
  if (options.dtype == DType::f16) ops::round_halves(step.plan);
  return step;
}

}  // namespace hone::models

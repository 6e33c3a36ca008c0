#include "models/encoder.h"

#include <string>

#include "base/error.h"
#include "nn/layer_norm.h"

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
  const nn::LayerNorm norm(parameters, std::string(names.embedding_norm), config.embedding_size,
                           config.layer_norm_eps);
  weights.norm_weight = norm.weight();
  weights.norm_bias = norm.bias();
  weights.eps = norm.eps();
  return weights;
}

}  // namespace

Encoder::Encoder(EncoderConfig config, DType dtype, Isa isa, bool with_head)
    : config_(std::move(config)),
      family_(family_of(config_)),
      dtype_(dtype),
      parameters_(isa),
      embeddings_(declare_embeddings(parameters_, config_, family_.names, dtype)),
      order_(layer_order(config_)) {
  const WeightNames& names = family_.names;
  if (!names.embedding_projection.empty()) {
    projection_.emplace(parameters_, std::vector{std::string(names.embedding_projection)},
                        config_.hidden_size, config_.embedding_size, dtype);
  }
  const nn::TransformerSizes sizes{config_.hidden_size,       config_.heads,
                                   config_.intermediate_size, config_.activation,
                                   config_.layer_norm_eps,    dtype};
  const int64_t distances = config_.position_kind == PositionKind::absolute ? 0 : config_.positions;
  const bool with_keys = config_.position_kind == PositionKind::relative_key_query;
  for (const LayerPlace& place : layer_places(config_)) {
    layers_.emplace_back(parameters_, names_at(names, place), sizes, distances, with_keys);
  }
  if (with_head) {
    const auto labels = static_cast<int64_t>(config_.labels.size());
    head_.emplace(Head{nn::Linear(parameters_, {std::string(names.head_dense)}, config_.hidden_size,
                                  config_.hidden_size, DType::f32),
                       nn::Linear(parameters_, {std::string(names.head_out)}, labels,
                                  config_.hidden_size, DType::f32)});
  }
}

Forward Encoder::record(const OutputOptions& options) const {
  if (options.output == Output::logits && !head_) {
    fail(ErrorKind::internal, "logits of an encoder without a head");
  }
  Forward forward;
  Plan& plan = forward.plan;
  EncoderInputs& in = forward.inputs;
  const auto indices = [&](Axis rows) { return plan.input(DType::i32, rows, 1); };
  in = {indices(Axis::tokens),
        indices(Axis::tokens),
        indices(Axis::tokens),
        {indices(Axis::sequences), indices(Axis::tokens), indices(Axis::reads),
         indices(Axis::sequences), indices(Axis::reads)}};

  const bool first_only =
      options.output == Output::logits ||
      (options.output == Output::embedding && options.pooling == ops::Pooling::cls);
  Value x = ops::embed_tokens(plan, in.ids, in.positions, in.types, embeddings_, dtype_);
  if (projection_) x = (*projection_)(plan, x, {.out = dtype_});
  for (size_t i = 0; i + 1 < order_.size(); ++i) {
    x = layers_[order_[i]].all(plan, x, in.packing, dtype_);
  }
  const nn::TransformerLayer& last = layers_[order_.back()];
  x = first_only ? last.read(plan, x, in.packing, DType::f32)
                 : last.all(plan, x, in.packing, DType::f32);

  if (options.output == Output::logits) {
    x = head_->out(plan, head_->dense(plan, x, {.activation = family_.head_activation}));
  } else if (options.output == Output::embedding) {
    if (!first_only) x = ops::pool(plan, x, in.packing.offsets, options.pooling);
    if (options.normalize) x = ops::normalize_rows(plan, x);
  }
  plan.keep(x);
  forward.output = x;
  return forward;
}

}  // namespace hone::models

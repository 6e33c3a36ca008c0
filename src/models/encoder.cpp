#include "models/encoder.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "kernels/cuda/fp8.h"
#include "models/int8.h"
#include "models/lora_targets.h"
#include "nn/layer_norm.h"
#include "ops/by_dtype.h"

namespace hone::models {
namespace {

std::string fill(std::string_view pattern, std::string_view name, int64_t index) {
  std::string out(pattern);
  const std::string mark = "{" + std::string(name) + "}";
  const size_t at = out.find(mark);
  if (at != std::string::npos) out.replace(at, mark.size(), std::to_string(index));
  return out;
}

/// Tells where a layer's weights lie in a checkpoint.
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
  weights.word_padding = config.pad_id;
  if (config.positions_skip_pad) weights.position_padding = config.pad_id;
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

DType activations_of(DType dtype, const Target& target) {
  if (dtype == DType::f8) return DType::bf16;
  if (dtype != DType::i8) return dtype;
  return target.isa >= Isa::avx512_bf16 ? DType::bf16 : DType::f32;
}

void check_fp8(const EncoderConfig& config, const Target& target) {
  if (target.device != DeviceKind::cuda) {
    fail(ErrorKind::unsupported, "dtype: 'fp8' has kernels on a GPU alone; use int8");
  }
  for (const int64_t width : {config.hidden_size, config.intermediate_size}) {
    if (width % kernels::cuda::kFp8Unit != 0 || width > kernels::cuda::kMaxFp8Width) {
      fail(ErrorKind::unsupported,
           "dtype: 'fp8' takes layers of multiples of {} up to {}, not of {}; use bf16",
           kernels::cuda::kFp8Unit, kernels::cuda::kMaxFp8Width, width);
    }
  }
}

/// Gives the dtype of a part's weights.
DType weights_of(const EncoderConfig& config, std::string_view part, DType dtype,
                 const Target& target) {
  if (target.device == DeviceKind::cuda) {  // a GPU's plans read shadows in `dtype`
    const bool fp8 = dtype == DType::f8 && part != kEmbeddingsPart;
    return fp8 && !config.quantization.keeps(part) ? DType::f8 : DType::f32;
  }
  return config.quantization.keeps(part) ? activations_of(dtype, target) : dtype;
}

}  // namespace

Encoder::Encoder(EncoderConfig config, const MakeOptions& options)
    : Model(family_of(config), options, activations_of(options.dtype, options.target)),
      config_(std::move(config)),
      encoder_family_(encoder_family_of(config_)),
      embeddings_(
          declare_embeddings(parameters_, config_, encoder_family_.names,
                             weights_of(config_, kEmbeddingsPart, options.dtype, options.target))),
      order_(layer_order(config_)) {
  const DType dtype = options.dtype;
  const Target& target = options.target;
  if (target.device == DeviceKind::cuda && dtype == DType::i8) {
    fail(ErrorKind::unsupported, "dtype: int8 has no kernels on a GPU; use bf16 or `device` cpu");
  }
  if (dtype == DType::f8) check_fp8(config_, target);
  const WeightNames& names = encoder_family_.names;
  std::optional<LoraMatcher> matcher;
  if (options.lora) {
    lora_ = checked_lora(family_, *options.lora);
    matcher.emplace(family_, *lora_);
  }
  const nn::LoraTargets* targets = matcher ? matcher->targets() : nullptr;
  const bool projects =
      encoder_family_.projects_equal_sizes || config_.embedding_size != config_.hidden_size;
  if (!names.embedding_projection.empty() && projects) {
    projection_.emplace(parameters_, std::vector{std::string(names.embedding_projection)},
                        config_.hidden_size, config_.embedding_size,
                        weights_of(config_, kEmbeddingsPart, dtype, target), targets);
  }
  nn::TransformerSizes sizes{
      config_.hidden_size,    config_.heads, config_.intermediate_size, config_.activation,
      config_.layer_norm_eps, dtype,         config_.layer_dropout};
  const int64_t distances = config_.position_kind == PositionKind::absolute ? 0 : config_.positions;
  const bool with_keys = config_.position_kind == PositionKind::relative_key_query;
  for (const LayerPlace& place : layer_places(config_)) {
    sizes.dtype = weights_of(config_, layer_part(layers_.size()), dtype, target);
    layers_.emplace_back(parameters_, names_at(names, place), sizes, distances, with_keys, targets);
  }
  if (options.with_head) declare_heads(ops::accumulator_dtype(dtype), targets);
  if (matcher) matcher->check();
}

void Encoder::declare_heads(DType dtype, const nn::LoraTargets* targets) {
  const WeightNames& names = encoder_family_.names;
  const auto labels = static_cast<int64_t>(config_.labels.size());
  const int64_t hidden = config_.hidden_size;
  const auto linear = [&](const std::string& name, int64_t out, const nn::LoraTargets* lora) {
    return nn::Linear(parameters_, {name}, out, hidden, dtype, lora);
  };
  const bool pabee = config_.exits.method == ExitMethod::pabee;
  const auto classifier = [](size_t depth) { return "classifiers." + std::to_string(depth); };
  const size_t last = order_.size() - 1;
  head_.emplace(Head{
      linear(std::string(names.head_dense), hidden, encoder_family_.has_pooler ? targets : nullptr),
      linear(pabee ? classifier(last) : std::string(names.head_out), labels, nullptr)});
  if (config_.exits.method == ExitMethod::none) return;
  // Highways lie beside the layers: "encoder.highway.3", "transformer.highway.3".
  const std::string highway(names.query.substr(0, names.query.find('.')));
  for (size_t depth = 0; depth < last; ++depth) {
    if (pabee) {
      exits_.push_back({std::nullopt, linear(classifier(depth), labels, nullptr)});
    } else {
      const bool adaptive = config_.exits.method == ExitMethod::adaptive;
      const std::string name = highway + ".highway." + std::to_string(depth);
      exits_.push_back({linear(name + ".pooler.dense", hidden, nullptr),
                        linear(name + (adaptive ? ".adaptive" : ".classifier"),
                               exit_width(config_.exits.method, labels), nullptr)});
    }
  }
}

}  // namespace hone::models

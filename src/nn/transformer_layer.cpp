#include "nn/transformer_layer.h"

#include "ops/pooling.h"

namespace hone::nn {

namespace {

/// The smallest of the products in fp8 gains less than it takes to quantize attention's rows: on an
/// H200 RoBERTa-base takes 1.316 instead of 1.354 ms for 128 short texts without.
DType attention_out_dtype(const TransformerSizes& sizes) {
  return sizes.dtype == DType::f8 ? DType::f32 : sizes.dtype;
}

std::optional<Linear> stacked(Parameters& parameters, const TransformerNames& names,
                              const TransformerSizes& sizes, const LoraTargets* lora) {
  if (!parameters.on_gpu()) return {};
  return Linear(parameters, {names.query, names.key, names.value}, 3 * sizes.hidden, sizes.hidden,
                sizes.dtype, lora);
}

}  // namespace

TransformerLayer::TransformerLayer(Parameters& parameters, const TransformerNames& names,
                                   const TransformerSizes& sizes, int64_t positions,
                                   bool distances_with_keys, const LoraTargets* lora)
    : sizes_(sizes),
      qkv_(stacked(parameters, names, sizes, lora)),
      query_(
          qkv_ ? qkv_->outputs(0, sizes.hidden)
               : Linear(parameters, {names.query}, sizes.hidden, sizes.hidden, sizes.dtype, lora)),
      key_value_(qkv_ ? qkv_->outputs(sizes.hidden, 2 * sizes.hidden)
                      : Linear(parameters, {names.key, names.value}, 2 * sizes.hidden, sizes.hidden,
                               sizes.dtype, lora)),
      attention_out_(parameters, {names.attention_out}, sizes.hidden, sizes.hidden,
                     attention_out_dtype(sizes), lora),
      attention_norm_(parameters, names.attention_norm, sizes.hidden, sizes.eps),
      feed_in_(parameters, {names.feed_in}, sizes.intermediate, sizes.hidden, sizes.dtype, lora),
      feed_out_(parameters, {names.feed_out}, sizes.hidden, sizes.intermediate, sizes.dtype, lora),
      feed_norm_(parameters, names.feed_norm, sizes.hidden, sizes.eps) {
  if (positions > 0) {
    relative_.table = parameters.table(names.distance + ".weight", 2 * positions - 1,
                                       sizes.hidden / sizes.heads, DType::f32);
    relative_.with_keys = distances_with_keys;
  }
}

namespace {

/// Numbers a layer's dropout sites; the embedding's is 0.
uint64_t site(uint64_t depth, uint64_t place) { return 4 * depth + place; }

}  // namespace

Value TransformerLayer::key_value(Tape& tape, Value x, const Packing& packing,
                                  uint64_t depth) const {
  return key_value_(tape, x, {.out = x.dtype}, packing.drop(0, lora_site(depth, 1)));
}

Value TransformerLayer::all(Tape& tape, Value x, const Packing& packing, uint64_t depth,
                            const LayerOut& out, std::optional<Value> kv) const {
  const auto lora = [&](uint64_t place) { return packing.drop(0, lora_site(depth, place)); };
  ops::AttentionInputs inputs;
  if (qkv_ && !kv) {
    inputs.q = inputs.kv = (*qkv_)(tape, x, {.out = x.dtype}, lora(0));
  } else {
    inputs.q = query_(tape, x, {.out = x.dtype}, lora(0));
    inputs.kv = kv ? *kv : key_value(tape, x, packing, depth);
  }
  inputs.q_offsets = packing.offsets;
  inputs.offsets = packing.offsets;
  inputs.q_places = packing.places;
  const LayerDropout& p = sizes_.dropout;
  inputs.dropout = packing.drop(p.probabilities, site(depth, 1));
  return finish(tape, inputs, x,
                {packing.drop(p.attention_out, site(depth, 2)),
                 packing.drop(p.feed_out, site(depth, 3)), lora(3), lora(4), lora(5)},
                out);
}

Value TransformerLayer::read(Tape& tape, Value x, const Packing& packing, uint64_t depth,
                             const LayerOut& out, std::optional<Value> kv) const {
  const auto lora = [&](uint64_t place) { return packing.drop_read(0, lora_site(depth, place)); };
  const Value rows = ops::gather_rows(tape, x, packing.reads);
  ops::AttentionInputs inputs;
  inputs.q = query_(tape, rows, {.out = x.dtype}, lora(0));
  inputs.kv = kv ? *kv : key_value(tape, x, packing, depth);
  inputs.q_offsets = packing.read_offsets;
  inputs.offsets = packing.offsets;
  inputs.q_places = packing.read_places;
  inputs.one_query = true;
  const LayerDropout& p = sizes_.dropout;
  inputs.dropout = packing.drop_read(p.probabilities, site(depth, 1));
  return finish(tape, inputs, rows,
                {packing.drop_read(p.attention_out, site(depth, 2)),
                 packing.drop_read(p.feed_out, site(depth, 3)), lora(3), lora(4), lora(5)},
                out);
}

Value TransformerLayer::finish(Tape& tape, const ops::AttentionInputs& partial, Value residual,
                               const Sites& sites, const LayerOut& out) const {
  ops::AttentionInputs inputs = partial;
  inputs.heads = sizes_.heads;
  inputs.longest = kLongest;
  // On a GPU sums go between kernels in the activations' dtype, and the norm adds the bias: there
  // memory is the limit. On a processor a product's sums stay in the cache.
  const bool gpu = tape.gpu();
  const ops::LinearOptions sums{.out = gpu ? residual.dtype : DType::f32};
  const auto product = [&](const Linear& linear, Value x, const ops::DropoutSite& lora) {
    return gpu ? linear.without_bias()(tape, x, sums, lora) : linear(tape, x, sums, lora);
  };
  const auto bias = [&](const Linear& linear) { return gpu ? linear.bias() : Weight{}; };
  const Value attended =
      product(attention_out_, ops::attention(tape, inputs, relative_), sites.lora_attention_out);
  const Value middle = attention_norm_(tape, attended,
                                       {.residual = residual,
                                        .dropout = sites.attention_out,
                                        .bias = bias(attention_out_),
                                        .out = residual.dtype,
                                        .quantized = reads_bytes()});
  const Value inner = feed_in_(tape, middle,
                               {.activation = sizes_.activation,
                                .out = residual.dtype,
                                .bytes_alone = sizes_.dtype == DType::f8},
                               sites.lora_feed_in);
  return feed_norm_(tape, product(feed_out_, inner, sites.lora_feed_out),
                    {.residual = middle,
                     .dropout = sites.feed_out,
                     .bias = bias(feed_out_),
                     .out = out.dtype,
                     .quantized = out.quantized});
}

}  // namespace hone::nn

#include "nn/transformer_layer.h"

#include "ops/pooling.h"

namespace hone::nn {

TransformerLayer::TransformerLayer(Parameters& parameters, const TransformerNames& names,
                                   const TransformerSizes& sizes, int64_t positions,
                                   bool distances_with_keys)
    : sizes_(sizes),
      query_(parameters, {names.query}, sizes.hidden, sizes.hidden, sizes.dtype),
      key_value_(parameters, {names.key, names.value}, 2 * sizes.hidden, sizes.hidden, sizes.dtype),
      attention_out_(parameters, {names.attention_out}, sizes.hidden, sizes.hidden, sizes.dtype),
      attention_norm_(parameters, names.attention_norm, sizes.hidden, sizes.eps),
      feed_in_(parameters, {names.feed_in}, sizes.intermediate, sizes.hidden, sizes.dtype),
      feed_out_(parameters, {names.feed_out}, sizes.hidden, sizes.intermediate, sizes.dtype),
      feed_norm_(parameters, names.feed_norm, sizes.hidden, sizes.eps) {
  if (positions > 0) {
    relative_.table = parameters.table(names.distance + ".weight", 2 * positions - 1,
                                       sizes.hidden / sizes.heads, DType::f32);
    relative_.with_keys = distances_with_keys;
  }
}

Value TransformerLayer::all(Plan& plan, Value x, const Packing& packing, DType out) const {
  ops::AttentionInputs inputs;
  inputs.q = query_(plan, x, {.out = sizes_.dtype});
  inputs.kv = key_value_(plan, x, {.out = sizes_.dtype});
  inputs.q_offsets = packing.offsets;
  inputs.offsets = packing.offsets;
  inputs.q_places = packing.places;
  return finish(plan, inputs, x, out);
}

Value TransformerLayer::read(Plan& plan, Value x, const Packing& packing, DType out) const {
  const Value rows = ops::gather_rows(plan, x, packing.reads);
  ops::AttentionInputs inputs;
  inputs.q = query_(plan, rows, {.out = sizes_.dtype});
  inputs.kv = key_value_(plan, x, {.out = sizes_.dtype});
  inputs.q_offsets = packing.read_offsets;
  inputs.offsets = packing.offsets;
  inputs.q_places = packing.read_places;
  return finish(plan, inputs, rows, out);
}

Value TransformerLayer::finish(Plan& plan, const ops::AttentionInputs& partial, Value residual,
                               DType out) const {
  ops::AttentionInputs inputs = partial;
  inputs.heads = sizes_.heads;
  const Value attended = ops::attention(plan, inputs, relative_);
  const Value sum = attention_out_(plan, attended, {.residual = residual});
  const Value middle = attention_norm_(plan, sum, sizes_.dtype);
  const Value wide = feed_in_(plan, middle, {.activation = sizes_.activation, .out = sizes_.dtype});
  return feed_norm_(plan, feed_out_(plan, wide, {.residual = middle}), out);
}

}  // namespace hone::nn

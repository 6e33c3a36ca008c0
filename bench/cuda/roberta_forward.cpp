// The arrays of a step and its forward pass.

#include <algorithm>

#include "cuda/roberta_model.h"

namespace hone::bench {
namespace {

std::vector<int32_t> offsets_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> offsets{0};
  for (const int32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

template <typename T>
T* upload(Arena& arena, CudaStream& stream, const std::vector<T>& values) {
  T* to = arena.of<T>(static_cast<int64_t>(values.size()));
  stream.copy(to, values.data(), values.size() * sizeof(T));
  stream.synchronize();
  return to;
}

double square(double n) { return n * n; }

}  // namespace

StepModel::StepModel(const StepShape& shape_, CudaStream& stream_)
    : shape(shape_), stream(stream_), parameters(arena, stream_, shape_.training) {
  inputs();
  scratch = arena.bytes(kProductScratch);
  attention_scratch = arena.bytes(static_cast<size_t>(tokens * kHeads) * 4);
  forward();
  if (shape.training) backward();
}

void StepModel::inputs() {
  const auto offsets = offsets_of(shape.lengths);
  tokens = shape.tokens;
  sequences = static_cast<int64_t>(shape.lengths.size());
  longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
  std::mt19937 engine(3);
  std::vector<int32_t> words(tokens, 1), places(tokens, 1), position(tokens, 0), firsts, ones{0};
  std::vector<int64_t> samples(tokens, 0), read_samples;
  std::vector<int32_t> labels, read_positions(sequences, 0);
  for (int64_t s = 0; s < sequences; ++s) {
    for (int32_t i = offsets[s]; i < offsets[s + 1]; ++i) {
      words[i] = i == offsets[s] ? 0 : static_cast<int32_t>(5 + engine() % (kWords - 5));
      places[i] = i - offsets[s] + 2;
      position[i] = i - offsets[s];
      samples[i] = s;
    }
    firsts.push_back(offsets[s]);
    ones.push_back(static_cast<int32_t>(s + 1));
    read_samples.push_back(s);
    labels.push_back(static_cast<int32_t>(engine() % 2));
  }
  k_offsets = upload(arena, stream, offsets);
  q_offsets = upload(arena, stream, ones);
  word_ids = upload(arena, stream, words);
  place_ids = upload(arena, stream, places);
  index = upload(arena, stream, firsts);
  label_ids = upload(arena, stream, labels);
  random = upload(arena, stream, std::vector<RandomState>{{11, 1}});
  loss_scale = upload(arena, stream, std::vector<LossScale>{{double(sequences), 1.0}});
  loss_value = arena.of<double>(1);
  token_rows = {kDropout, 0, random, upload(arena, stream, samples),
                upload(arena, stream, position)};
  read_rows = {kDropout, 0, random, upload(arena, stream, read_samples),
               upload(arena, stream, read_positions)};
  if (!shape.training) token_rows.p = read_rows.p = 0.0f;
}

void StepModel::product(const char* name, ProductKind kind, int64_t m, int64_t n, int64_t k,
                        const void* a, int64_t lda, const void* b, const void* bias, void* c,
                        int64_t ldc, bool add) {
  ProductShape p;
  p.kind = kind;
  p.dtype = kType;
  p.out = kind == ProductKind::weight_gradient ? DType::f32 : kType;
  p.add = add;
  p.bias = bias != nullptr;
  p.m = m;
  p.n = n;
  p.k = k;
  p.lda = lda;
  p.ldb = k;
  p.ldc = ldc;
  const ProductArrays arrays{a, b, bias, c};
  size_t bytes = 0;
  ok(kernel_api().product_prepare(p, kProductScratch, &bytes), name);
  products.push_back({p, arrays});
  void* memory = scratch;
  ops.push_back(
      {.name = name, .flops = 2.0 * double(m) * double(n) * double(k), .run = [=](Stream s) {
         ok(kernel_api().product(p, arrays, memory, kProductScratch, s), name);
       }});
}

void StepModel::linear(const char* name, int64_t m, int64_t n, int64_t k, const void* x,
                       const void* w, const Place* bias, int64_t bias_row, void* y, int64_t ldy,
                       Activation activation, void* z) {
  SmallLinear small{.dtype = kType,
                    .out = kType,
                    .activation = activation,
                    .m = m,
                    .n = n,
                    .k = k,
                    .ldx = k,
                    .ldw = k,
                    .ldy = ldy,
                    .x = x,
                    .w = w,
                    .bias = bias ? parameters.master(*bias) + bias_row : nullptr,
                    .y = y};
  if (!shape.training && !shape.library && kernel_api().takes_linear_small(small)) {
    ops.push_back({.name = name,
                   .flops = 2.0 * double(m) * double(n) * double(k),
                   .bytes = 2.0 * double(n) * double(k),
                   .run = [=](Stream s) { ok(kernel_api().linear_small(small, s), name); }});
    return;
  }
  product(name, ProductKind::forward, m, n, k, x, k, w,
          bias ? parameters.copy(*bias, bias_row, 1) : nullptr, z ? z : y, ldy, false);
  if (z) activate(activation == Activation::gelu ? "GELU" : "tanh", activation, m * n, z, y);
}

void StepModel::activate(const char* name, Activation activation, int64_t count, const void* z,
                         void* y) {
  op(name, 0, 4.0 * double(count),
     [=](Stream s) { ok(kernel_api().activate(activation, kType, z, count, y, s), name); });
}

AttentionShape StepModel::attention_shape(bool last) const {
  return {.q_offsets = last ? q_offsets : k_offsets,
          .k_offsets = k_offsets,
          .sequences = sequences,
          .longest_q = last ? 1 : longest,
          .longest_k = longest,
          .q_rows = last ? sequences : tokens,
          .k_rows = tokens,
          .heads = kHeads,
          .head_size = kHidden / kHeads,
          .scale = 0.125f,
          .dtype = kType};
}

double StepModel::attention_flops(bool last) const {
  double pairs = 0;
  for (const int32_t length : shape.lengths) pairs += last ? length : square(length);
  return 4.0 * pairs * kHidden;
}

void StepModel::norm(const char* name, NormForward f) {
  f.dtype = kType;
  f.width = kHidden;
  if (!shape.training) f.xhat = f.rstd = nullptr;
  const double arrays = shape.training ? 4 : 3;
  op(name, 0, arrays * 2.0 * double(f.rows) * kHidden,
     [=](Stream s) { ok(kernel_api().layer_norm(f, s), name); });
}

void StepModel::feed_forward(int64_t rows, const LayerPlaces& w, const LayerValues& v) {
  const LinearGelu both{kType,
                        rows,
                        kInner,
                        kHidden,
                        kHidden,
                        v.y1,
                        parameters.copy(w.f1),
                        parameters.master(w.f1_bias),
                        shape.training ? v.z : nullptr,
                        v.g};
  if (rows >= kLinearGeluRows && kernel_api().linear_gelu_fits(both)) {
    op("F1 product and GELU", 2.0 * double(rows) * kInner * kHidden, 0,
       [=](Stream s) { ok(kernel_api().linear_gelu(both, s), "gelu"); });
    return;
  }
  linear("F1 product", rows, kInner, kHidden, v.y1, parameters.copy(w.f1), &w.f1_bias, 0, v.g,
         kInner, Activation::gelu, v.z);
}

void StepModel::layer_forward(int64_t l, void* x) {
  const bool last = l == kLayers - 1;
  const int64_t rows = last ? sequences : tokens;
  const LayerPlaces& w = parameters.layers[l];
  LayerValues& v = values[l];
  v.x = x;
  v.qkv = arena.values(tokens * 3 * kHidden);
  v.attended = arena.values(rows * kHidden);
  v.o = arena.values(rows * kHidden);
  v.sums = arena.of<float>(rows * kHeads);
  v.read_x = x;
  v.q = v.qkv;
  int64_t q_stride = 3 * kHidden;
  char* kv = static_cast<char*>(v.qkv) + kHidden * 2;
  if (last) {  // keys and values of all rows, the rest for the rows that are read
    v.read_x = arena.values(rows * kHidden);
    v.q = arena.values(rows * kHidden);
    q_stride = kHidden;
    linear("QKV product", tokens, 2 * kHidden, kHidden, x, parameters.copy(w.qkv, kHidden),
           &w.qkv_bias, kHidden, kv, 3 * kHidden);
    op("gather", 0, 4.0 * double(rows) * kHidden, [=, this](Stream s) {
      ok(kernel_api().gather_rows(kType, x, kHidden, index, rows, kHidden, v.read_x, s), "gather");
    });
    linear("QKV product", rows, kHidden, kHidden, v.read_x, parameters.copy(w.qkv), &w.qkv_bias, 0,
           v.q, kHidden);
  } else {
    linear("QKV product", tokens, 3 * kHidden, kHidden, x, parameters.copy(w.qkv), &w.qkv_bias, 0,
           v.qkv, 3 * kHidden);
  }
  AttentionForward a;
  a.q = {v.q, q_stride};
  a.k = {kv, 3 * kHidden};
  a.v = {kv + kHidden * 2, 3 * kHidden};
  a.out = v.attended;
  a.log_sums = shape.training ? v.sums : nullptr;
  a.dropout = drop(last, 10 * l);
  const AttentionShape at = attention_shape(last);
  v.kept = shape.training
               ? arena.of<uint32_t>(static_cast<int64_t>(kernel_api().attention_kept_words(at)))
               : nullptr;
  a.kept = v.kept;
  op("attention", attention_flops(last), 8.0 * double(tokens) * kHidden, [=](Stream s) {
    ok(kernel_api().attention(at, a, AttentionKernel::automatic, s), "attention");
  });
  linear("O product", rows, kHidden, kHidden, v.attended, parameters.copy(w.o), nullptr, 0, v.o,
         kHidden);
  v.xhat1 = arena.values(rows * kHidden);
  v.y1 = arena.values(rows * kHidden);
  v.rstd1 = arena.of<float>(rows);
  NormForward n;
  n.rows = rows;
  n.x = v.o;
  n.bias = parameters.master(w.o_bias);
  n.residual = v.read_x;
  n.dropout = drop(last, 10 * l + 1);
  n.weight = parameters.master(w.norm1);
  n.affine_bias = parameters.master(w.norm1_bias);
  n.xhat = v.xhat1;
  n.rstd = v.rstd1;
  n.y = v.y1;
  norm("dropout + norm", n);
  v.z = arena.values(rows * kInner);
  v.g = arena.values(rows * kInner);
  v.f = arena.values(rows * kHidden);
  feed_forward(rows, w, v);
  linear("F2 product", rows, kHidden, kInner, v.g, parameters.copy(w.f2), nullptr, 0, v.f, kHidden);
  v.xhat2 = arena.values(rows * kHidden);
  v.y2 = arena.values(rows * kHidden);
  v.rstd2 = arena.of<float>(rows);
  n.x = v.f;
  n.bias = parameters.master(w.f2_bias);
  n.residual = v.y1;
  n.dropout = drop(last, 10 * l + 2);
  n.weight = parameters.master(w.norm2);
  n.affine_bias = parameters.master(w.norm2_bias);
  n.xhat = v.xhat2;
  n.rstd = v.rstd2;
  n.y = v.y2;
  norm("dropout + norm", n);
}

void StepModel::forward() {
  void* x = arena.values(tokens * kHidden);
  embedding_xhat = arena.values(tokens * kHidden);
  embedding_rstd = arena.of<float>(tokens);
  EmbeddingForward e{kType,
                     parameters.copy(parameters.word),
                     parameters.copy(parameters.type),
                     parameters.copy(parameters.position),
                     word_ids,
                     nullptr,
                     place_ids};
  NormForward n;
  n.dtype = kType;
  n.rows = tokens;
  n.width = kHidden;
  n.weight = parameters.master(parameters.norm);
  n.affine_bias = parameters.master(parameters.norm_bias);
  n.output_dropout = drop(false, 1000);
  n.xhat = shape.training ? embedding_xhat : nullptr;
  n.rstd = shape.training ? embedding_rstd : nullptr;
  n.y = x;
  op("embeddings", 0, 2.0 * 5 * double(tokens) * kHidden,
     [=](Stream s) { ok(kernel_api().embed_and_normalize(e, n, s), "embeddings"); });
  for (int64_t l = 0; l < kLayers; ++l) {
    layer_forward(l, x);
    x = values[l].y2;
  }
  pooled_z = arena.values(sequences * kHidden);
  pooled = arena.values(sequences * kHidden);
  logits = arena.of<float>(sequences * kClasses);
  linear("pooler product", sequences, kHidden, kHidden, x, parameters.copy(parameters.pooler),
         &parameters.pooler_bias, 0, pooled, kHidden, Activation::tanh, pooled_z);
  head = {kType,
          sequences,
          kHidden,
          kClasses,
          pooled,
          drop(true, 1001),
          parameters.master(parameters.head),
          parameters.master(parameters.head_bias),
          logits};
  op("head", 0, 0, [this](Stream s) { ok(kernel_api().head(head, s), "head"); });
}

}  // namespace hone::bench

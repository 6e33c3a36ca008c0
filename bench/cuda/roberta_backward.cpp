// The backward pass of the step, and the optimiser.

#include "cuda/roberta_model.h"

namespace hone::bench {

void StepModel::norm_backward(const char* name, const NormBackward& b, void* partials) {
  op(name, 0, 8.0 * double(b.rows) * kHidden, [=, this, at = sums.size()](Stream s) {
    ok(kernel_api().layer_norm_backward(b, partials, s, &sums[at]), name);
  });
  sums.emplace_back();
}

NormBackward StepModel::norm_backward_args(int64_t rows, const void* dy, const void* xhat,
                                           const float* rstd, Place weight, Place bias) const {
  NormBackward b;
  b.dtype = kType;
  b.rows = rows;
  b.width = kHidden;
  b.dy = dy;
  b.xhat = xhat;
  b.rstd = rstd;
  b.weight = parameters.master(weight);
  b.dweight = parameters.gradient(weight);
  b.daffine_bias = parameters.gradient(bias);
  return b;
}

void StepModel::backward() {
  for (LayerGradients& g : gradients) {
    for (void** array : {&g.dsum2, &g.df, &g.dsum1, &g.do_, &g.dattended, &g.dq}) {
      *array = arena.values(tokens * kHidden);
    }
    g.dg = arena.values(tokens * kInner);
    g.dqkv = arena.values(tokens * 3 * kHidden);
    for (void** parts : {&g.norm2, &g.gelu, &g.norm1, &g.column}) {
      *parts = arena.bytes(kernel_api().row_sums_workspace(tokens, kInner));
    }
  }
  sums.reserve(16 * kLayers);  // calls keep places in it
  head_backward();
  void* dy = gradients[(kLayers - 1) % 2].dattended;  // free until the last layer's attention
  for (int64_t l = kLayers - 1; l >= 0; --l) layer_backward(l, dy);
  embedding_backward(dy);
  parameters.optimizer_ops(ops);
}

void StepModel::head_backward() {
  dlogits = arena.of<float>(sequences * kClasses);
  Loss args;
  args.rows = sequences;
  args.classes = kClasses;
  args.logits = logits;
  args.labels = label_ids;
  args.scale = loss_scale;
  args.loss = loss_value;
  args.dlogits = dlogits;
  void* dpooled = arena.values(sequences * kHidden);
  void* partials = arena.bytes(kernel_api().row_sums_workspace(sequences, kHidden));
  const ActivationBackward tanh{
      Activation::tanh, kType,   sequences,
      kHidden,          dpooled, pooled_z,
      dpooled,          nullptr, parameters.gradient(parameters.pooler_bias)};
  op("head", 0, 0, [=, this](Stream s) {
    const HeadBackward b{dlogits, dpooled, parameters.gradient(parameters.head),
                         parameters.gradient(parameters.head_bias)};
    ok(kernel_api().loss(args, s), "loss");
    ok(kernel_api().head_backward(head, b, s), "head");
    RowSums parts;
    ok(kernel_api().activation_backward(tanh, partials, s, &parts), "tanh");
    ok(kernel_api().add_row_sums(&parts, 1, s), "tanh");
  });
  void* dy = gradients[(kLayers - 1) % 2].dattended;
  input_gradient("pooler dgrad", sequences, kHidden, kHidden, dpooled, kHidden,
                 parameters.copy(parameters.pooler), dy, false);
  weight_gradient("pooler wgrad", sequences, kHidden, kHidden, dpooled, kHidden,
                  values[kLayers - 1].y2, parameters.gradient(parameters.pooler));
}

void StepModel::gelu_backward(int64_t rows, const LayerPlaces& w, const LayerValues& v,
                              const LayerGradients& g) {
  const size_t at = sums.size();
  sums.emplace_back();
  const LinearGeluBackward both{kType,
                                rows,
                                kHidden,
                                kInner,
                                kHidden,
                                g.df,
                                parameters.copy(w.f2),
                                v.z,
                                g.dg,
                                parameters.gradient(w.f1_bias)};
  if (rows >= kLinearGeluRows && kernel_api().linear_gelu_backward_fits(both)) {
    op("F2 dgrad and GELU backward", 2.0 * double(rows) * kInner * kHidden, 0, [=, this](Stream s) {
      ok(kernel_api().linear_gelu_backward(both, g.gelu, s, &sums[at]), "gelu");
    });
    return;
  }
  input_gradient("F2 dgrad", rows, kHidden, kInner, g.df, kHidden, parameters.copy(w.f2), g.dg,
                 false);
  const ActivationBackward gelu{Activation::gelu,
                                kType,
                                rows,
                                kInner,
                                g.dg,
                                v.z,
                                g.dg,
                                nullptr,
                                parameters.gradient(w.f1_bias)};
  op("GELU backward", 0, 6.0 * double(rows) * kInner, [=, this](Stream s) {
    ok(kernel_api().activation_backward(gelu, g.gelu, s, &sums[at]), "gelu");
  });
}

void StepModel::layer_backward(int64_t l, void*& dy) {
  const bool last = l == kLayers - 1;
  const int64_t rows = last ? sequences : tokens;
  const LayerPlaces& w = parameters.layers[l];
  const LayerValues& v = values[l];
  const LayerGradients& g = gradients[l % 2];
  const size_t first_sum = sums.size();

  NormBackward n2 = norm_backward_args(rows, dy, v.xhat2, v.rstd2, w.norm2, w.norm2_bias);
  n2.dropout = drop(last, 10 * l + 2);
  n2.dsum = g.dsum2;
  n2.dx = g.df;
  n2.dbias = parameters.gradient(w.f2_bias);
  norm_backward("norm backward", n2, g.norm2);
  weight_gradient("F2 wgrad", rows, kHidden, kInner, g.df, kHidden, v.g, parameters.gradient(w.f2));
  gelu_backward(rows, w, v, g);
  input_gradient("F1 dgrad", rows, kInner, kHidden, g.dg, kInner, parameters.copy(w.f1), g.dsum2,
                 true);
  weight_gradient("F1 wgrad", rows, kInner, kHidden, g.dg, kInner, v.y1, parameters.gradient(w.f1));

  NormBackward n1 = norm_backward_args(rows, g.dsum2, v.xhat1, v.rstd1, w.norm1, w.norm1_bias);
  n1.dropout = drop(last, 10 * l + 1);
  n1.dsum = g.dsum1;
  n1.dx = g.do_;
  n1.dbias = parameters.gradient(w.o_bias);
  norm_backward("norm backward", n1, g.norm1);
  input_gradient("O dgrad", rows, kHidden, kHidden, g.do_, kHidden, parameters.copy(w.o),
                 g.dattended, false);
  weight_gradient("O wgrad", rows, kHidden, kHidden, g.do_, kHidden, v.attended,
                  parameters.gradient(w.o));

  AttentionBackward a;
  char* kv = static_cast<char*>(v.qkv) + kHidden * 2;
  char* dkv = static_cast<char*>(g.dqkv) + kHidden * 2;
  const int64_t wide = 3 * kHidden;
  a.q = {v.q, last ? kHidden : wide};
  a.k = {kv, wide};
  a.v = {kv + kHidden * 2, wide};
  a.out = v.attended;
  a.dout = g.dattended;
  a.log_sums = v.sums;
  a.dropout = drop(last, 10 * l);
  a.kept = v.kept;
  a.dq = {last ? g.dq : g.dqkv, last ? kHidden : wide};
  a.dk = {dkv, wide};
  a.dv = {dkv + kHidden * 2, wide};
  op("attention backward", 2.5 * attention_flops(last), 16.0 * double(tokens) * kHidden,
     [=, this, at = attention_shape(last)](Stream s) {
       ok(kernel_api().attention_backward(at, a, attention_scratch, AttentionKernel::automatic, s),
          "attention backward");
     });
  void* scratch_at = g.column;
  const auto bias_sums = [&](const void* x, int64_t stride, int64_t count, int64_t width,
                             float* to) {
    op("sums over rows", 0, 2.0 * double(count) * double(width),
       [=, this, at = sums.size()](Stream s) {
         ok(kernel_api().column_sums(kType, x, stride, count, width, to, scratch_at, s, &sums[at]),
            "sums");
       });
    sums.emplace_back();
  };
  if (last) {
    input_gradient("QKV dgrad", rows, kHidden, kHidden, g.dq, kHidden, parameters.copy(w.qkv),
                   g.dsum1, true);
    input_gradient("QKV dgrad", tokens, 2 * kHidden, kHidden, dkv, wide,
                   parameters.copy(w.qkv, kHidden), g.dattended, false);
    op("scatter", 0, 6.0 * double(rows) * kHidden, [=, this](Stream s) {
      ok(kernel_api().scatter_rows(kType, g.dsum1, index, rows, tokens, kHidden, false, g.dattended,
                                   s),
         "scatter");
    });
    weight_gradient("QKV wgrad", rows, kHidden, kHidden, g.dq, kHidden, v.read_x,
                    parameters.gradient(w.qkv));
    weight_gradient("QKV wgrad", tokens, 2 * kHidden, kHidden, dkv, wide, v.x,
                    parameters.gradient(w.qkv) + kHidden * kHidden);
    bias_sums(g.dq, kHidden, rows, kHidden, parameters.gradient(w.qkv_bias));
    scratch_at = static_cast<char*>(g.column) + 4 * 128 * kHidden;
    bias_sums(dkv, wide, tokens, 2 * kHidden, parameters.gradient(w.qkv_bias) + kHidden);
    dy = g.dattended;
  } else {
    input_gradient("QKV dgrad", rows, wide, kHidden, g.dqkv, wide, parameters.copy(w.qkv), g.dsum1,
                   true);
    weight_gradient("QKV wgrad", rows, wide, kHidden, g.dqkv, wide, v.x,
                    parameters.gradient(w.qkv));
    bias_sums(g.dqkv, wide, rows, wide, parameters.gradient(w.qkv_bias));
    dy = g.dsum1;
  }
  const auto count = static_cast<int64_t>(sums.size() - first_sum);
  op("add sums", 0, 0,
     [=, this](Stream s) { ok(kernel_api().add_row_sums(&sums[first_sum], count, s), "sums"); });
}

void StepModel::embedding_backward(void* dy) {
  void* dsum = arena.values(tokens * kHidden);
  NormBackward b = norm_backward_args(tokens, dy, embedding_xhat, embedding_rstd, parameters.norm,
                                      parameters.norm_bias);
  b.output_dropout = drop(false, 1000);
  b.dsum = dsum;
  norm_backward("norm backward", b, arena.bytes(kernel_api().row_sums_workspace(tokens, kHidden)));
  op("add sums", 0, 0, [this, at = sums.size() - 1](Stream s) {
    ok(kernel_api().add_row_sums(&sums[at], 1, s), "sums");
  });
  EmbeddingBackward e;
  e.dtype = kType;
  e.tokens = tokens;
  e.width = kHidden;
  e.dsum = dsum;
  e.tables[0] = {word_ids, parameters.gradient(parameters.word), parameters.touched};
  e.tables[1] = {place_ids, parameters.gradient(parameters.position)};
  e.tables[2] = {nullptr, parameters.gradient(parameters.type)};
  void* memory = arena.bytes(kernel_api().embedding_backward_workspace(tokens, kHidden));
  op("embedding gradients", 0, 2.0 * double(tokens) * kHidden,
     [=](Stream s) { ok(kernel_api().embedding_backward(e, memory, s), "embedding gradients"); });
}

}  // namespace hone::bench

#include "base/error.h"
#include "device/cuda.h"
#include "ops/accumulate.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;

/// What both norms keep for the backward pass.
struct Kept {
  Value xhat;
  Value rstd;
};

std::optional<Kept> kept_rows(Tape& tape, Value y) {
  if (!tape.training()) return {};
  return Kept{tape.plan().temporary(y.dtype, y.rows, y.width),
              tape.plan().temporary(DType::f32, y.rows, 1)};
}

cuda::NormForward forward_args(const Frame& frame, const NormParameters& norm, Value y,
                               const std::optional<Kept>& kept) {
  cuda::NormForward args;
  args.dtype = y.dtype;
  args.rows = frame.rows(y);
  args.width = y.width;
  args.weight = frame.weight<float>(norm.weight);
  args.affine_bias = frame.weight<float>(norm.bias);
  args.eps = norm.eps;
  args.y = frame.data<void>(y);
  if (kept) {
    args.xhat = frame.data<void>(kept->xhat);
    args.rstd = frame.data<float>(kept->rstd);
  }
  return args;
}

struct Backward {
  NormParameters norm;
  Kept kept;
  Weight bias = {};          ///< of the product before
  DropoutSite dropout = {};  ///< of x
  DropoutSite output_dropout = {};

  /// Gradients of the sum that was normalised, and of x + bias. Where `again`, xhat becomes y, less
  /// its dropout.
  std::pair<Value, Value> emit(Tape& tape, Value dy, bool again = false) const {
    Plan& plan = tape.plan();
    const Value dsum = plan.temporary(dy.dtype, dy.rows, dy.width);
    const Value dx = dropout.active() ? plan.temporary(dy.dtype, dy.rows, dy.width) : dsum;
    const bool sums =
        tape.trainable(norm.weight) || tape.trainable(norm.bias) || tape.trainable(bias);
    Step step{"layer_norm_backward", {dy, kept.xhat, kept.rstd}, {dsum}, {}};
    if (dropout.active()) step.writes.push_back(dx);
    if (again) step.writes.push_back(kept.xhat);
    dropout.add_reads(step.reads);
    output_dropout.add_reads(step.reads);
    std::optional<Value> parts;
    auto list = std::make_shared<cuda::RowSums>();
    if (sums) {
      parts = norm_sums_value(plan, dy.rows, dy.width);
      step.writes.push_back(*parts);
    }
    step.run = [=, op = *this](const Frame& frame) {
      cuda::NormBackward args;
      args.dtype = dy.dtype;
      args.rows = frame.rows(dy);
      args.width = dy.width;
      args.dy = frame.data<const void>(dy);
      args.output_dropout = dropout_at(frame, op.output_dropout);
      args.xhat = frame.data<const void>(op.kept.xhat);
      args.rstd = frame.data<const float>(op.kept.rstd);
      args.weight = frame.weight<float>(op.norm.weight);
      args.affine_bias = frame.weight<float>(op.norm.bias);
      args.y = again ? frame.data<void>(op.kept.xhat) : nullptr;
      args.dropout = dropout_at(frame, op.dropout);
      args.dsum = frame.data<void>(dsum);
      args.dx = op.dropout.active() ? frame.data<void>(dx) : nullptr;
      args.dweight = static_cast<float*>(frame.gradient(op.norm.weight));
      args.daffine_bias = static_cast<float*>(frame.gradient(op.norm.bias));
      args.dbias = static_cast<float*>(frame.gradient(op.bias));
      const GpuFrame& gpu = frame.gpu();
      gpu.check(gpu.api->layer_norm_backward(args, parts ? frame.data<void>(*parts) : nullptr,
                                             gpu.stream, parts ? list.get() : nullptr));
    };
    step.weight = norm.weight;
    plan.add(std::move(step));
    if (parts) tape.add_up(*parts, list);
    return {dsum, dx};
  }
};

void emit_table_gradients(Tape& tape, Value dsum, const EmbeddingIds& ids,
                          const EmbeddingWeights& weights) {
  const bool trains = tape.trainable(weights.word) || tape.trainable(weights.position) ||
                      tape.trainable(weights.type);
  if (!trains) return;
  Step step{"embedding_backward", {dsum, ids.word, ids.position, ids.type}, {}, {}};
  for (const Weight& table : {weights.word, weights.position, weights.type}) {
    if (!tape.trainable(table) || !cuda::marks_rows(table.width)) continue;
    if (tape.takes_gradient(table)) step.sets.push_back(table);
  }
  step.run = [=](const Frame& frame) {
    const GpuFrame& gpu = frame.gpu();
    const auto table = [&](Value rows, const Weight& weight) {
      cuda::EmbeddingGradient gradient;
      gradient.dtable = static_cast<float*>(frame.gradient(weight));
      gradient.ids = frame.data<const int32_t>(rows);
      if (gradient.dtable && !gpu.touched.empty()) {
        gradient.touched = gpu.touched[static_cast<size_t>(weight.slot)];
      }
      return gradient;
    };
    cuda::EmbeddingBackward args;
    args.dtype = dsum.dtype;
    args.tokens = frame.rows(dsum);
    args.width = dsum.width;
    args.dsum = frame.data<const void>(dsum);
    args.tables[0] = table(ids.word, weights.word);
    args.tables[1] = table(ids.position, weights.position);
    args.tables[2] = table(ids.type, weights.type);
    gpu.check(gpu.api->embedding_backward(args, frame.workspace(), gpu.stream));
    // Rows of padding tokens learn nothing.
    const auto clear = [&](const Weight& weight, int64_t row) {
      auto* gradient = static_cast<float*>(frame.gradient(weight));
      if (!gradient || row < 0) return;
      const auto width = static_cast<size_t>(weight.width);
      gpu.check(cuda_api().fill(gradient + static_cast<size_t>(row) * width, 0,
                                width * sizeof(float), gpu.stream));
    };
    clear(weights.word, weights.word_padding);
    clear(weights.position, weights.position_padding);
  };
  step.workspace = [dsum](const Extents& e, int) {
    return cuda::kernel_api().embedding_backward_workspace(e[dsum.rows], dsum.width);
  };
  step.weight = weights.word;
  tape.plan().add(std::move(step));
}

}  // namespace

Value layer_norm(Tape& tape, Value x, const NormParameters& norm, const LayerNormOptions& options) {
  if (x.dtype != options.out || (options.residual && options.residual->dtype != x.dtype)) {
    fail(ErrorKind::internal, "a norm of several dtypes on a GPU");
  }
  Plan& plan = tape.plan();
  const Value y = plan.temporary(x.dtype, x.rows, x.width);
  const std::optional<Kept> kept = kept_rows(tape, y);
  std::optional<Value> bytes;
  if (options.quantized) bytes = fp8_value(plan, y);
  Step step{"layer_norm", {x}, {y}, [=](const Frame& frame) {
              cuda::NormForward args = forward_args(frame, norm, y, kept);
              if (bytes) {
                const Fp8Rows rows = fp8_rows(frame, *bytes, y);
                args.bytes = rows.bytes;
                args.scales = rows.scales;
              }
              args.x = frame.data<const void>(x);
              args.bias = frame.weight<float>(options.bias);
              if (options.residual) args.residual = frame.data<const void>(*options.residual);
              if (kept) args.dropout = dropout_at(frame, options.dropout);
              frame.gpu().check(frame.gpu().api->layer_norm(args, frame.gpu().stream));
            }};
  if (options.residual) step.reads.push_back(*options.residual);
  if (kept) {
    step.writes.insert(step.writes.end(), {kept->xhat, kept->rstd});
    options.dropout.add_reads(step.reads);
  }
  if (bytes) {
    step.writes.push_back(*bytes);
    tape.set_quantized(y, *bytes);
  }
  step.weight = norm.weight;
  plan.add(std::move(step));
  const bool residual = options.residual && tape.needs_gradient(*options.residual);
  if (!tape.needs_gradient(x) && !residual && !tape.trainable(norm.weight) &&
      !tape.trainable(norm.bias) && !tape.trainable(options.bias)) {
    return y;
  }
  tape.on_backward(y, [&tape, x, y, options, residual,
                       op = Backward{norm, *kept, options.bias, options.dropout, {}}] {
    const bool again = tape.is_awaited(y);
    const auto [dsum, dx] = op.emit(tape, *tape.gradient(y), again);
    if (again) tape.made_again(y, op.kept.xhat);
    if (residual) accumulate(tape, *options.residual, dsum);
    if (tape.needs_gradient(x)) accumulate(tape, x, dx);
  });
  tape.can_make_again(y);
  return y;
}

Value embed_tokens(Tape& tape, const EmbeddingIds& ids, const EmbeddingWeights& weights, DType out,
                   const DropoutSite& dropout) {
  Plan& plan = tape.plan();
  const Value y = plan.temporary(out, ids.word.rows, weights.word.width);
  const std::optional<Kept> kept = kept_rows(tape, y);
  const Weight word = tape.in_dtype(weights.word, out);
  const Weight position = tape.in_dtype(weights.position, out);
  const Weight type = tape.in_dtype(weights.type, out);
  Step step{
      "embedding", {ids.word, ids.position, ids.type}, {y}, [=](const Frame& frame) {
        cuda::EmbeddingForward tables;
        tables.table_dtype = word.dtype;
        tables.word = frame.weight(word);
        tables.type = frame.weight(type);
        tables.position = frame.weight(position);
        tables.word_ids = frame.data<const int32_t>(ids.word);
        tables.type_ids = frame.data<const int32_t>(ids.type);
        tables.position_ids = frame.data<const int32_t>(ids.position);
        cuda::NormForward args = forward_args(frame, weights.norm, y, kept);
        if (kept) args.output_dropout = dropout_at(frame, dropout);
        frame.gpu().check(frame.gpu().api->embed_and_normalize(tables, args, frame.gpu().stream));
      }};
  if (kept) {
    step.writes.insert(step.writes.end(), {kept->xhat, kept->rstd});
    dropout.add_reads(step.reads);
  }
  step.weight = weights.word;
  plan.add(std::move(step));
  const bool trains = tape.trainable(weights.word) || tape.trainable(weights.position) ||
                      tape.trainable(weights.type) || tape.trainable(weights.norm.weight) ||
                      tape.trainable(weights.norm.bias);
  if (!trains) return y;
  tape.on_backward(y,
                   [&tape, y, ids, weights, op = Backward{weights.norm, *kept, {}, {}, dropout}] {
                     const Value dsum = op.emit(tape, *tape.gradient(y)).first;
                     emit_table_gradients(tape, dsum, ids, weights);
                   });
  return y;
}

}  // namespace hone::ops::gpu

#include "base/error.h"
#include "ops/accumulate.h"
#include "ops/fusion_gpu.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;

struct GpuLstm {
  Value x;
  LstmWeights weights;
  Value offsets;
  Value h;
  /// What the backward pass reads: gates behind their functions, and cells.
  std::optional<std::pair<Value, Value>> kept;

  cuda::LstmShape shape(const Frame& frame) const {
    cuda::LstmShape made;
    made.dtype = x.dtype;
    made.sequences = frame.rows(offsets);
    made.tokens = frame.rows(x);
    made.hidden = h.width;
    made.offsets = frame.data<const int32_t>(offsets);
    made.weight = frame.weight(weights.recurrent);
    return made;
  }
  double flops(const Extents& e) const {
    return 2.0 * static_cast<double>(e[x.rows]) *
           static_cast<double>(weights.recurrent.rows * weights.recurrent.width);
  }

  void emit(Plan& plan) const {
    Step step{"lstm", {x, offsets}, {h}, [op = *this](const Frame& frame) {
                cuda::LstmForward args;
                args.x = frame.data<const void>(op.x);
                args.bias = frame.weight<float>(op.weights.bias);
                args.h = frame.data<void>(op.h);
                if (op.kept) {
                  args.gates = frame.data<void>(op.kept->first);
                  args.cells = frame.data<float>(op.kept->second);
                }
                const GpuFrame& gpu = frame.gpu();
                gpu.check(gpu.api->lstm(op.shape(frame), args, gpu.stream));
              }};
    if (kept) step.writes.insert(step.writes.end(), {kept->first, kept->second});
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weights.recurrent, weights.bias};
    plan.add(std::move(step));
  }

  /// Emits the gradient of x, and h one step later.
  std::pair<Value, Value> emit_backward(Plan& plan, Value dh) const {
    const Value dx = plan.temporary(x.dtype, x.rows, x.width);
    const Value before = plan.temporary(h.dtype, h.rows, h.width);
    Step step{"lstm_backward",
              {dh, h, kept->first, kept->second, offsets},
              {dx, before},
              [=, op = *this](const Frame& frame) {
                cuda::LstmBackward args;
                args.dh = frame.data<const void>(dh);
                args.h = frame.data<const void>(op.h);
                args.gates = frame.data<const void>(op.kept->first);
                args.cells = frame.data<const float>(op.kept->second);
                args.dx = frame.data<void>(dx);
                args.before = frame.data<void>(before);
                const GpuFrame& gpu = frame.gpu();
                gpu.check(gpu.api->lstm_backward(op.shape(frame), args, gpu.stream));
              }};
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weights.recurrent};
    plan.add(std::move(step));
    return {dx, before};
  }

  void emit_weight_gradient(Tape& tape, Value dx, Value before) const {
    const Weight& weight = weights.recurrent;
    const bool sets = tape.sets_gradient(weight);
    Step step{"lstm_weight_gradient", {dx, before}, {}, [=](const Frame& frame) {
                cuda::ProductShape s;
                s.kind = cuda::ProductKind::weight_gradient;
                s.dtype = dx.dtype;
                s.out = DType::f32;
                s.m = frame.rows(dx);
                s.n = weight.rows;
                s.k = weight.width;
                s.add = !sets;
                s.lda = dx.width;
                s.ldb = s.ldc = before.width;
                product(frame, s,
                        {frame.data<const void>(dx), frame.data<const void>(before), nullptr,
                         frame.gradient(weight)});
              }};
    step.gradients = {weight};
    if (sets) step.sets.push_back(weight);
    const size_t tried = static_cast<size_t>(weight.rows * weight.width) * sizeof(float);
    step.workspace = [tried](const Extents&, int) { return kProductScratch + tried; };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.product = true;
    tape.plan().add(std::move(step));
  }

  void emit_bias_gradient(Tape& tape, Value dx) const {
    const Value parts = row_sum_value(tape.plan(), dx.rows, dx.width);
    auto sums = std::make_shared<cuda::RowSums>();
    Step step{"lstm_bias_gradient", {dx}, {parts}, [=, bias = weights.bias](const Frame& frame) {
                const GpuFrame& gpu = frame.gpu();
                gpu.check(gpu.api->column_sums(dx.dtype, frame.data<const void>(dx), dx.width,
                                               frame.rows(dx), dx.width,
                                               static_cast<float*>(frame.gradient(bias)),
                                               frame.data<void>(parts), gpu.stream, sums.get()));
              }};
    step.gradients = {weights.bias};
    tape.plan().add(std::move(step));
    add_row_sums(tape, parts, sums, {weights.bias});
  }
};

}  // namespace

Value lstm(Tape& tape, Value x, const LstmWeights& weights, Value offsets) {
  Plan& plan = tape.plan();
  const int64_t hidden = weights.recurrent.width;
  if (hidden > cuda::kMaxLstmHidden) {
    fail(ErrorKind::unsupported, "hidden_size: {} is more than the {} of an lstm on a GPU", hidden,
         cuda::kMaxLstmHidden);
  }
  const LstmWeights read{tape.in_dtype(weights.recurrent, x.dtype), weights.bias};
  GpuLstm op{x, read, offsets, plan.temporary(x.dtype, x.rows, hidden), std::nullopt};
  const bool trains = tape.trainable(weights.recurrent) || tape.trainable(weights.bias);
  if (trains || tape.needs_gradient(x)) {
    op.kept = {plan.temporary(x.dtype, x.rows, x.width),
               plan.temporary(DType::f32, x.rows, hidden)};
  }
  op.emit(plan);
  if (!op.kept) return op.h;
  tape.on_backward(op.h, [&tape, op] {
    const auto [dx, before] = op.emit_backward(tape.plan(), *tape.gradient(op.h));
    if (tape.trainable(op.weights.recurrent)) op.emit_weight_gradient(tape, dx, before);
    if (tape.trainable(op.weights.bias)) op.emit_bias_gradient(tape, dx);
    if (tape.needs_gradient(op.x)) accumulate(tape, op.x, dx);
  });
  return op.h;
}

}  // namespace hone::ops::gpu

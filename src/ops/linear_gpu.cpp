#include "base/error.h"
#include "ops/accumulate.h"
#include "ops/fusion_gpu.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;
using cuda::ProductArrays;
using cuda::ProductKind;
using cuda::ProductShape;

struct Linear {
  Value x;
  Weight weight;
  Weight bias;         ///< in y's dtype
  Weight master_bias;  ///< in fp32
  Value y;             ///< the product before the activation
  bool adds;
  int64_t column;
  kernels::Activation activation = kernels::Activation::none;
  Value activated = {};  ///< y itself where there is no activation, or nobody reads y
  bool infers = false;   ///< the weights stay as they are

  void* columns(const Frame& frame, Value value) const {
    auto* start = frame.data<std::byte>(value);
    return start + static_cast<size_t>(column) * dtype_size(value.dtype);
  }
  ProductShape shape(ProductKind kind, int64_t m, DType out) const {
    ProductShape s;
    s.kind = kind;
    s.dtype = x.dtype;
    s.out = out;
    s.m = m;
    s.n = weight.rows;
    s.k = weight.width;
    return s;
  }
  double flops(const Extents& extents) const {
    return 2.0 * static_cast<double>(extents[x.rows]) *
           static_cast<double>(weight.rows * weight.width);
  }
  void add(Plan& plan, Step step, size_t more = 0) const {
    step.workspace = [more](const Extents&, int) { return kProductScratch + more; };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.product = true;
    plan.add(std::move(step));
  }

  /// Says whether the kernel for few rows ran. It reads the weights ahead of the kernels before it.
  bool run_small(const Frame& frame) const {
    const GpuFrame& gpu = frame.gpu();
    if (!infers || adds || gpu.tuning) return false;
    cuda::SmallLinear small;
    small.dtype = x.dtype;
    small.out = activated.dtype;
    small.activation = activation_of(activation);
    small.m = frame.rows(x);
    small.n = weight.rows;
    small.k = small.ldw = weight.width;
    small.ldx = x.width;
    small.ldy = activated.width;
    small.x = frame.data<const void>(x);
    small.w = frame.weight(weight);
    small.bias = frame.weight<float>(master_bias);
    small.y = columns(frame, activated);
    if (!gpu.api->takes_linear_small(small)) return false;
    gpu.check(gpu.api->linear_small(small, gpu.stream));
    return true;
  }

  /// Says whether a kernel of our own ran, with GELU at its end.
  bool run_own(const Frame& frame) const {
    const GpuFrame& gpu = frame.gpu();
    if (adds || gpu.tuning) return false;
    if (activation != kernels::Activation::gelu || frame.rows(x) < cuda::kLinearGeluRows)
      return false;
    cuda::LinearGelu fused;
    fused.dtype = x.dtype;
    fused.m = frame.rows(x);
    fused.n = weight.rows;
    fused.k = fused.ldx = weight.width;
    fused.x = frame.data<const void>(x);
    fused.weight = frame.weight(weight);
    fused.bias = frame.weight<float>(master_bias);
    fused.z = activated.id != y.id ? frame.data<void>(y) : nullptr;
    fused.y = frame.data<void>(activated);
    if (activated.dtype != x.dtype || !gpu.api->linear_gelu_fits(fused)) return false;
    gpu.check(gpu.api->linear_gelu(fused, gpu.stream));
    return true;
  }

  void emit(Plan& plan) const {
    Step step{"linear", {x}, {activated}, [op = *this](const Frame& frame) {
                if (op.run_small(frame) || op.run_own(frame)) return;
                ProductShape s = op.shape(ProductKind::forward, frame.rows(op.x), op.y.dtype);
                s.add = op.adds;
                s.bias = op.bias.present();
                s.lda = op.x.width;
                s.ldb = op.weight.width;
                s.ldc = op.y.width;
                product(frame, s,
                        {frame.data<const void>(op.x), frame.weight(op.weight),
                         frame.weight(op.bias), op.columns(frame, op.y)});
                if (op.activation != kernels::Activation::none) {
                  activate(frame, op.activation, op.y, op.activated);
                }
              }};
    if (adds) step.reads.push_back(y);
    if (activated.id != y.id) step.writes.push_back(y);
    step.weights = {weight, bias, master_bias};
    add(plan, std::move(step));
  }

  void emit_weight_gradient(Tape& tape, Value dy, Value input) const {
    const bool sets = tape.sets_gradient(weight);
    Step step{"linear_weight_gradient", {dy, input}, {}, [=, op = *this](const Frame& frame) {
                ProductShape s = op.shape(ProductKind::weight_gradient, frame.rows(dy), DType::f32);
                s.add = !sets;
                s.lda = dy.width;
                s.ldb = input.width;
                s.ldc = op.weight.width;
                product(frame, s,
                        {op.columns(frame, dy), frame.data<const void>(input), nullptr,
                         frame.gradient(op.weight)});
              }};
    step.gradients = {weight};
    if (sets) step.sets.push_back(weight);
    add(tape.plan(), std::move(step),
        static_cast<size_t>(weight.rows * weight.width) * sizeof(float));
  }

  void emit_bias_gradient(Tape& tape, Value dy) const {
    const Value parts = row_sum_value(tape.plan(), dy.rows, weight.rows);
    auto sums = std::make_shared<cuda::RowSums>();
    Step step{"linear_bias_gradient", {dy}, {parts}, [=, op = *this](const Frame& frame) {
                const GpuFrame& gpu = frame.gpu();
                gpu.check(gpu.api->column_sums(dy.dtype, op.columns(frame, dy), dy.width,
                                               frame.rows(dy), op.weight.rows,
                                               static_cast<float*>(frame.gradient(op.bias)),
                                               frame.data<void>(parts), gpu.stream, sums.get()));
              }};
    step.gradients = {bias};
    tape.plan().add(std::move(step));
    add_row_sums(tape, parts, sums, {bias});
  }

  void emit_input_gradient(Tape& tape, Value dy) const {
    Plan& plan = tape.plan();
    const std::optional<Value> before = tape.gradient(x);
    const bool in_place = before && !tape.gradient_is_shared(x);
    const Value dx = in_place ? *before : plan.temporary(x.dtype, x.rows, x.width);
    Step step{
        "linear_input_gradient", {dy}, {dx}, [=, op = *this](const Frame& frame) {
          const GpuFrame& gpu = frame.gpu();
          if (before && !in_place) {
            gpu.check(gpu.api->convert(before->dtype, frame.data<const void>(*before), dx.dtype,
                                       frame.data<void>(dx), frame.rows(dx) * dx.width,
                                       gpu.stream));
          }
          ProductShape s = op.shape(ProductKind::input_gradient, frame.rows(dy), dx.dtype);
          s.add = before.has_value();
          s.lda = dy.width;
          s.ldb = op.weight.width;
          s.ldc = dx.width;
          product(frame, s,
                  {op.columns(frame, dy), frame.weight(op.weight), nullptr, frame.data<void>(dx)});
        }};
    if (before) step.reads.push_back(*before);
    step.weights = {weight};
    add(plan, std::move(step));
    tape.set_gradient(x, dx);
  }

  void emit_backward(Tape& tape, Value dy, bool bias_too) const {
    const bool trains = tape.trainable(weight);
    const FusedBackward fused = fused_backward(tape, x);
    const bool whole = column == 0 && dy.width == weight.rows;
    std::optional<Value> again;
    if (fused && whole && !tape.gradient(x)) again = fused(dy, weight, trains);
    if (bias_too && tape.trainable(bias)) emit_bias_gradient(tape, dy);
    if (trains && again) {
      emit_weight_gradient(tape, dy, *again);
    } else if (trains && tape.gradient_is_shared(y)) {  // dy may be added to meanwhile
      emit_weight_gradient(tape, dy, tape.saved(x));
    } else if (trains) {
      with_saved(tape, x, [&tape, dy, op = *this](Value input) {
        op.emit_weight_gradient(tape, dy, input);
      });
    }
    if (tape.needs_gradient(x) && !again) emit_input_gradient(tape, dy);
  }
};

/// Emits the gradient of what the activation was applied to; adds to the bias'.
Value emit_activation_backward(Tape& tape, Value dy, Value z, kernels::Activation activation,
                               const Weight& bias) {
  Plan& plan = tape.plan();
  const Value dz = plan.temporary(z.dtype, z.rows, z.width);
  const bool sums_bias = tape.trainable(bias);
  Step step{"activation_backward", {dy, z}, {dz}, {}};
  std::optional<Value> parts;
  auto sums = std::make_shared<cuda::RowSums>();
  if (sums_bias) {
    parts = row_sum_value(plan, z.rows, z.width);
    step.writes.push_back(*parts);
    step.gradients = {bias};
  }
  step.run = [=](const Frame& frame) {
    if (!parts) return activation_backward(frame, activation, dy, z, dz);
    activation_backward(frame, activation, dy, z, dz, static_cast<float*>(frame.gradient(bias)),
                        frame.data<void>(*parts), sums.get());
  };
  plan.add(std::move(step));
  if (parts) add_row_sums(tape, *parts, sums, {bias});
  return dz;
}

/// Emits the gradient of z from the gradient dy of the product behind the activation, which is y =
/// activation(z) weight^T, in one kernel where that can be; adds to the bias'. Where `again`, z
/// becomes activation(z).
Value emit_fused(Tape& tape, Value dy, const Weight& weight, bool again, Value z,
                 kernels::Activation activation, const Weight& bias) {
  Plan& plan = tape.plan();
  const Value dz = plan.temporary(z.dtype, z.rows, z.width);
  const bool sums_bias = tape.trainable(bias);
  const Value parts = row_sum_value(plan, z.rows, z.width);
  auto sums = std::make_shared<cuda::RowSums>();
  const Linear behind{z, weight, {}, {}, dy, false, 0};
  Step step{"linear_input_gradient", {dy, z}, {dz, parts}, [=](const Frame& frame) {
              const GpuFrame& gpu = frame.gpu();
              auto* dbias = sums_bias ? static_cast<float*>(frame.gradient(bias)) : nullptr;
              cuda::LinearGeluBackward fused;
              fused.dtype = dy.dtype;
              fused.m = frame.rows(dy);
              fused.n = weight.rows;
              fused.k = weight.width;
              fused.lddy = dy.width;
              fused.dy = frame.data<const void>(dy);
              fused.weight = frame.weight(weight);
              fused.z = frame.data<const void>(z);
              fused.dz = frame.data<void>(dz);
              fused.y = again ? frame.data<void>(z) : nullptr;
              fused.dbias = dbias;
              if (!gpu.tuning && activation == kernels::Activation::gelu &&
                  fused.m >= cuda::kLinearGeluRows && gpu.api->linear_gelu_backward_fits(fused)) {
                return gpu.check(gpu.api->linear_gelu_backward(fused, frame.data<void>(parts),
                                                               gpu.stream, sums.get()));
              }
              ProductShape s = behind.shape(ProductKind::input_gradient, fused.m, dz.dtype);
              s.lda = dy.width;
              s.ldb = weight.width;
              s.ldc = dz.width;
              product(frame, s, {fused.dy, fused.weight, nullptr, fused.dz});
              if (gpu.tuning) return;
              activation_backward(frame, activation, dz, z, dz, dbias, frame.data<void>(parts),
                                  sums.get(), fused.y);
            }};
  if (again) step.writes.push_back(z);
  step.weights = {weight};
  if (sums_bias) step.gradients = {bias};
  behind.add(plan, std::move(step));
  if (sums_bias) add_row_sums(tape, parts, sums, {bias});
  return dz;
}

}  // namespace

Value linear(Tape& tape, Value x, Weight master, Weight bias, const LinearOptions& options) {
  if (master.dtype == DType::f8) return linear_fp8(tape, x, master, bias, options);
  if (master.dtype != DType::f32) {
    fail(ErrorKind::unsupported, "weights in {} have no products on a GPU",
         dtype_name(master.dtype));
  }
  const bool adds = options.into.has_value();
  const bool activates = options.activation != kernels::Activation::none;
  if (!adds && !activates && options.out == DType::f32 && bias.present() &&
      master.rows <= cuda::kMaxHeadOutputs) {
    return head(tape, x, master, bias);
  }
  const Weight weight = tape.in_dtype(master, x.dtype);
  Plan& plan = tape.plan();
  const Value z = adds ? *options.into : plan.temporary(options.out, x.rows, weight.rows);
  const bool trains = tape.trainable(weight) || tape.trainable(bias) || tape.needs_gradient(x);
  const Value y = activates && trains ? plan.temporary(z.dtype, z.rows, z.width) : z;
  const Linear op{x,    weight,         tape.in_dtype(bias, z.dtype), bias, z,
                  adds, options.column, options.activation,           y,    !tape.training()};
  op.emit(plan);
  if (!trains) return y;
  tape.on_backward(
      z, [&tape, op, activates] { op.emit_backward(tape, *tape.gradient(op.y), !activates); });
  if (!activates) return y;
  tape.on_backward(y, [&tape, op] {
    tape.set_gradient(op.y, emit_activation_backward(tape, *tape.gradient(op.activated), op.y,
                                                     op.activation, op.bias));
  });
  set_fused_backward(
      tape, y, [&tape, op](Value dy, const Weight& behind, bool again) -> std::optional<Value> {
        if (dy.dtype != op.y.dtype) return {};
        tape.set_gradient(op.y, emit_fused(tape, dy, behind, again, op.y, op.activation, op.bias));
        return op.y;
      });
  return y;
}

}  // namespace hone::ops::gpu

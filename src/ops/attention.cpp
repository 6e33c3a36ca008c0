#include "ops/attention.h"

#include <cmath>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_backward.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct Attention {
  AttentionInputs in;
  RelativePositions relative;
  Value y;
  std::optional<Value> log_sums;  ///< kept for the backward pass

  int64_t head_size() const { return in.q.width / in.heads; }

  kernels::AttentionShape shape(const Frame& frame) const {
    return {.q_offsets = frame.data<const int32_t>(in.q_offsets),
            .k_offsets = frame.data<const int32_t>(in.offsets),
            .sequences = frame.rows(in.offsets),
            .heads = in.heads,
            .head_size = head_size(),
            .scale = 1.f / std::sqrt(static_cast<float>(head_size()))};
  }

  template <typename T>
  kernels::RelativePositionsOf<kernels::Accumulator<T>> distances(const Frame& frame) const {
    if (!relative.table.present()) return {};
    return {frame.weight<kernels::Accumulator<T>>(relative.table), (relative.table.rows + 1) / 2,
            relative.with_keys, frame.data<const int32_t>(in.q_places)};
  }

  template <typename T>
  void run(const Frame& frame) const {
    using Sum = kernels::Accumulator<T>;
    const T* kv = frame.data<const T>(in.kv);
    const kernels::HeadRows<T> q{frame.data<const T>(in.q), in.q.width};
    const kernels::HeadRows<T> k{kv, in.kv.width};
    const kernels::HeadRows<T> v{kv + in.q.width, in.kv.width};
    Sum* sums = log_sums ? frame.data<Sum>(*log_sums) : nullptr;
    const kernels::Dropout drop = in.dropout.at(frame);
    if constexpr (std::is_same_v<T, double>) {
      kernels::attention(shape(frame), q, k, v, distances<T>(frame), frame.data<T>(y), sums,
                         frame.pool(), drop);
    } else {
      kernels::attention<T, T>(shape(frame), q, k, v, distances<T>(frame), frame.data<T>(y), sums,
                               frame.workspace(), frame.pool(), drop);
    }
  }

  std::vector<Value> reads() const {
    std::vector<Value> values = {in.q, in.kv, in.q_offsets, in.offsets};
    if (relative.table.present()) values.push_back(in.q_places);
    in.dropout.add_reads(values);
    return values;
  }

  void emit(Plan& plan) const {
    Step step{"attention", reads(), {y}, [op = *this](const Frame& frame) {
                by_dtype(op.y.dtype, [&]<typename T>(T) { op.run<T>(frame); });
              }};
    if (log_sums) step.writes.push_back(*log_sums);
    step.weights = {relative.table};
    step.workspace = [op = *this](const Extents& extents, int threads) {
      return kernels::attention_workspace(extents[op.in.offsets.rows], op.head_size(), threads);
    };
    plan.add(std::move(step));
  }

  template <typename T>
  void run_backward(const Frame& frame, Value dy, Value dq, Value dkv) const {
    using Sum = kernels::Accumulator<T>;
    const T* kv = frame.data<const T>(in.kv);
    T* dkv_data = frame.data<T>(dkv);
    kernels::AttentionBackward<T> args{};
    args.q = {frame.data<const T>(in.q), in.q.width};
    args.k = {kv, in.kv.width};
    args.v = {kv + in.q.width, in.kv.width};
    args.out = frame.data<const T>(y);
    args.dout = frame.data<const T>(dy);
    args.log_sums = frame.data<const Sum>(*log_sums);
    args.relative = distances<T>(frame);
    args.dropout = in.dropout.at(frame);
    args.dq = {frame.data<T>(dq), dq.width};
    args.dk = {dkv_data, dkv.width};
    args.dv = {dkv_data + dq.width, dkv.width};
    args.ddistances = static_cast<Sum*>(frame.gradient(relative.table));
    uint8_t* touched = args.ddistances ? frame.touched(relative.table) : nullptr;
    if (touched) std::fill_n(touched, relative.table.rows, uint8_t{1});
    kernels::attention_backward<T>(shape(frame), args, frame.workspace(), frame.pool());
  }

  /// Emits the gradients of q and kv.
  std::pair<Value, Value> emit_backward(Tape& tape, Value dy) const {
    Plan& plan = tape.plan();
    const Value dq = plan.temporary(in.q.dtype, in.q.rows, in.q.width);
    const Value dkv = plan.temporary(in.kv.dtype, in.kv.rows, in.kv.width);
    Step step{"attention_backward", reads(), {dq, dkv}, [=, op = *this](const Frame& frame) {
                by_dtype(dq.dtype, [&]<typename T>(T) { op.run_backward<T>(frame, dy, dq, dkv); });
              }};
    step.reads.insert(step.reads.end(), {y, dy, *log_sums});
    step.weights = {relative.table};
    step.gradients = tape.trained({relative.table});
    step.workspace = [op = *this](const Extents& e, int threads) {
      return kernels::attention_backward_workspace(e[op.in.q.rows], op.head_size(), threads);
    };
    plan.add(std::move(step));
    return {dq, dkv};
  }
};

}  // namespace

Value attention(Tape& tape, const AttentionInputs& inputs, const RelativePositions& relative) {
  if (tape.gpu()) return gpu::attention(tape, inputs, relative);
  Plan& plan = tape.plan();
  const Value y = plan.temporary(inputs.q.dtype, inputs.q.rows, inputs.q.width);
  Attention op{inputs, relative, y, std::nullopt};
  const bool backward = tape.needs_gradient(inputs.q) || tape.needs_gradient(inputs.kv) ||
                        tape.trainable(relative.table);
  if (backward) op.log_sums = plan.temporary(accumulator_dtype(y.dtype), y.rows, inputs.heads);
  if (!tape.training()) op.in.dropout = {};
  op.emit(plan);
  if (!backward) return y;
  tape.on_backward(y, [&tape, op] {
    const auto [dq, dkv] = op.emit_backward(tape, *tape.gradient(op.y));
    if (tape.needs_gradient(op.in.q)) accumulate(tape, op.in.q, dq);
    if (tape.needs_gradient(op.in.kv)) accumulate(tape, op.in.kv, dkv);
  });
  return y;
}

}  // namespace hone::ops

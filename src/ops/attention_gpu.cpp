#include <cmath>

#include "base/error.h"
#include "ops/accumulate.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;

struct Attention {
  AttentionInputs in;
  RelativePositions relative;
  Value y;
  std::optional<Value> log_sums;
  std::optional<Value> kept;  ///< the bits of what dropout kept

  /// Gives the shape without the offsets.
  cuda::AttentionShape shape(const Extents& e) const {
    cuda::AttentionShape shape;
    shape.sequences = e[in.offsets.rows];
    shape.longest_k = e[in.longest];
    shape.longest_q = in.one_query ? 1 : e[in.longest];
    shape.q_rows = e[y.rows];
    shape.k_rows = e[in.kv.rows];
    shape.heads = in.heads;
    shape.head_size = y.width / in.heads;
    shape.scale = 1.f / std::sqrt(static_cast<float>(shape.head_size));
    shape.dtype = y.dtype;
    return shape;
  }
  cuda::AttentionShape shape(const Frame& frame) const {
    cuda::AttentionShape s = shape(frame.extents());
    s.q_offsets = frame.data<const int32_t>(in.q_offsets);
    s.k_offsets = frame.data<const int32_t>(in.offsets);
    return s;
  }

  /// Says where queries, keys and values lie: in two values or in one.
  template <typename Rows>
  std::array<Rows, 3> rows(const Frame& frame, Value q, Value kv) const {
    const size_t width = static_cast<size_t>(y.width) * dtype_size(y.dtype);
    auto* first = frame.data<std::byte>(kv) + (q.id == kv.id ? width : 0);
    return {Rows{frame.data<void>(q), q.width}, Rows{first, kv.width},
            Rows{first + width, kv.width}};
  }

  cuda::RelativePositions distances(const Frame& frame) const {
    if (!relative.table.present()) return {};
    return {frame.weight<float>(relative.table), (relative.table.rows + 1) / 2, relative.with_keys,
            frame.data<const int32_t>(in.q_places)};
  }

  std::vector<Value> reads() const {
    std::vector<Value> values = {in.q, in.kv, in.q_offsets, in.offsets};
    if (relative.table.present()) values.push_back(in.q_places);
    in.dropout.add_reads(values);
    return values;
  }

  void emit(Plan& plan) const {
    Step step{"attention", reads(), {y}, [op = *this](const Frame& frame) {
                const auto [q, k, v] = op.rows<cuda::HeadRows>(frame, op.in.q, op.in.kv);
                cuda::AttentionForward args;
                args.q = q;
                args.k = k;
                args.v = v;
                args.out = frame.data<void>(op.y);
                if (op.log_sums) args.log_sums = frame.data<float>(*op.log_sums);
                args.dropout = dropout_at(frame, op.in.dropout);
                if (op.kept) args.kept = frame.data<uint32_t>(*op.kept);
                args.relative = op.distances(frame);
                frame.gpu().check(frame.gpu().api->attention(
                    op.shape(frame), args, cuda::AttentionKernel::automatic, frame.gpu().stream));
              }};
    if (log_sums) step.writes.push_back(*log_sums);
    if (kept) step.writes.push_back(*kept);
    step.weights = {relative.table};
    plan.add(std::move(step));
  }

  void emit_backward(Tape& tape, Value dy, Value dq, Value dkv) const {
    Step step{"attention_backward", reads(), {dq, dkv}, [=, op = *this](const Frame& frame) {
                const auto [q, k, v] = op.rows<cuda::HeadRows>(frame, op.in.q, op.in.kv);
                const auto [gq, gk, gv] = op.rows<cuda::HeadGradients>(frame, dq, dkv);
                cuda::AttentionBackward args;
                args.q = q;
                args.k = k;
                args.v = v;
                args.out = frame.data<const void>(op.y);
                args.dout = frame.data<const void>(dy);
                args.log_sums = frame.data<const float>(*op.log_sums);
                args.dropout = dropout_at(frame, op.in.dropout);
                if (op.kept) args.kept = frame.data<const uint32_t>(*op.kept);
                args.dq = gq;
                args.dk = gk;
                args.dv = gv;
                args.relative = op.distances(frame);
                args.ddistances = static_cast<float*>(frame.gradient(op.relative.table));
                if (args.ddistances) args.touched = frame.touched(op.relative.table);
                frame.gpu().check(frame.gpu().api->attention_backward(
                    op.shape(frame), args, frame.workspace(), cuda::AttentionKernel::automatic,
                    frame.gpu().stream));
              }};
    step.reads.insert(step.reads.end(), {y, dy, *log_sums});
    if (kept) step.reads.push_back(*kept);
    step.weights = {relative.table};
    step.gradients = tape.trained({relative.table});
    step.workspace = [op = *this](const Extents& e, int) {
      return cuda::kernel_api().attention_backward_workspace(op.shape(e));
    };
    tape.plan().add(std::move(step));
  }
};

}  // namespace

Value attention(Tape& tape, const AttentionInputs& inputs, const RelativePositions& relative) {
  Plan& plan = tape.plan();
  const bool fused = inputs.q.id == inputs.kv.id;
  const Value y =
      plan.temporary(inputs.q.dtype, inputs.q.rows, fused ? inputs.q.width / 3 : inputs.q.width);
  Attention op{inputs, relative, y, {}, {}};
  const bool backward = tape.needs_gradient(inputs.q) || tape.needs_gradient(inputs.kv) ||
                        tape.trainable(relative.table);
  if (!tape.training()) op.in.dropout = {};
  if (backward) {
    op.log_sums = plan.temporary(DType::f32, y.rows, inputs.heads);
    if (op.in.dropout.active() && !relative.table.present()) {
      op.kept = plan.temporary([op](const Extents& e) {
        return cuda::kernel_api().attention_kept_words(op.shape(e)) * sizeof(uint32_t);
      });
    }
  }
  op.emit(plan);
  if (!backward) return y;
  tape.on_backward(y, [&tape, op, fused] {
    Plan& steps = tape.plan();
    const Value dq = steps.temporary(op.in.q.dtype, op.in.q.rows, op.in.q.width);
    const Value dkv = fused ? dq : steps.temporary(op.in.kv.dtype, op.in.kv.rows, op.in.kv.width);
    op.emit_backward(tape, *tape.gradient(op.y), dq, dkv);
    if (tape.needs_gradient(op.in.q)) accumulate(tape, op.in.q, dq);
    if (!fused && tape.needs_gradient(op.in.kv)) accumulate(tape, op.in.kv, dkv);
  });
  return y;
}

}  // namespace hone::ops::gpu

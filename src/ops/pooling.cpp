#include "ops/pooling.h"

#include <array>

#include "kernels/cpu/embedding_backward.h"
#include "kernels/cpu/pooling.h"
#include "kernels/cpu/rows.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

Value emit_gather(Plan& plan, Value x, Value indices) {
  const Value y = plan.temporary(x.dtype, indices.rows, x.width);
  const auto row_bytes = x.width * static_cast<int64_t>(dtype_size(held_in(x.dtype)));
  plan.add({"gather", {x, indices}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->gather_rows(
                    x.dtype, frame.data<const void>(x), x.width, frame.data<const int32_t>(indices),
                    frame.rows(indices), x.width, frame.data<void>(y), frame.gpu().stream));
              }
              kernels::gather_rows(frame.data<const void>(x), row_bytes,
                                   frame.data<const int32_t>(indices), frame.rows(indices),
                                   row_bytes, frame.data<void>(y), frame.pool());
            }});
  return y;
}

/// Emits zeros, but dy at the indices.
Value emit_scatter(Plan& plan, Value dy, Value x, Value indices) {
  const Value dx = plan.temporary(dy.dtype, x.rows, x.width);
  plan.add({"scatter", {dy, indices}, {dx}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->scatter_rows(
                    dy.dtype, frame.data<const void>(dy), frame.data<const int32_t>(indices),
                    frame.rows(dy), frame.rows(dx), dx.width, true, frame.data<void>(dx),
                    frame.gpu().stream));
              }
              by_dtype(dy.dtype, [&]<typename T>(T) {
                kernels::scatter_rows<T>(
                    frame.data<const T>(dy), frame.data<const int32_t>(indices), frame.rows(dy),
                    frame.rows(dx), dx.width, true, frame.data<T>(dx), frame.pool());
              });
            }});
  return dx;
}

}  // namespace

Value pool(Tape& tape, Value x, Value offsets, Pooling pooling) {
  static constexpr std::array kKernel = {kernels::Pooling::first, kernels::Pooling::mean,
                                         kernels::Pooling::max};
  const Value y = tape.plan().temporary(DType::f32, offsets.rows, x.width);
  tape.plan().add({"pooling", {x, offsets}, {y}, [=, gpu = tape.gpu()](const Frame& frame) {
                     if (gpu) {
                       return frame.gpu().check(frame.gpu().api->pool_sequences(
                           static_cast<kernels::cuda::Pooling>(pooling), frame.data<const float>(x),
                           frame.data<const int32_t>(offsets), frame.rows(y), x.width,
                           frame.data<float>(y), frame.gpu().stream));
                     }
                     kernels::pool_sequences<float>(
                         kKernel[static_cast<size_t>(pooling)], frame.data<const float>(x),
                         frame.data<const int32_t>(offsets), frame.rows(y), x.width,
                         frame.data<float>(y), frame.pool());
                   }});
  return y;
}

Value normalize_rows(Tape& tape, Value x) {
  const Value y = tape.plan().temporary(DType::f32, x.rows, x.width);
  tape.plan().add({"normalize", {x}, {y}, [=, gpu = tape.gpu()](const Frame& frame) {
                     if (gpu) {
                       return frame.gpu().check(frame.gpu().api->l2_normalize(
                           frame.data<const float>(x), frame.rows(x), x.width, frame.data<float>(y),
                           frame.gpu().stream));
                     }
                     kernels::l2_normalize(frame.data<const float>(x), frame.rows(x), x.width,
                                           frame.data<float>(y), frame.pool());
                   }});
  return y;
}

Value gather_rows(Tape& tape, Value x, Value indices) {
  const Value y = emit_gather(tape.plan(), x, indices);
  if (!tape.needs_gradient(x)) return y;
  // On a GPU a few rows are kept rather than all that they were taken from.
  if (!tape.gpu()) {
    tape.recompute(
        y, [&tape, x, indices] { return emit_gather(tape.plan(), tape.saved(x), indices); });
  }
  tape.on_backward(y, [&tape, x, y, indices] {
    accumulate(tape, x, emit_scatter(tape.plan(), *tape.gradient(y), x, indices));
  });
  return y;
}

}  // namespace hone::ops

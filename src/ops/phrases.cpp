#include "ops/phrases.h"

#include "base/error.h"
#include "kernels/cpu/phrases.h"
#include "kernels/cpu/rows.h"
#include "ops/accumulate.h"
#include "ops/by_head_dtype.h"
#include "ops/scale.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

void refuse_gpu(Tape& tape) {
  if (!tape.gpu()) return;
  fail(ErrorKind::unsupported, "device: a self-explaining model runs on the CPU alone");
}

kernels::PhrasePlaces places_of(const Frame& frame, const PhraseInputs& places) {
  return {frame.rows(places.offsets), frame.data<const int32_t>(places.offsets),
          frame.data<const int32_t>(places.phrases), frame.data<const int32_t>(places.spans)};
}

struct PhraseGradients {
  std::optional<Value> dx;
  std::optional<Value> du;
};

PhraseGradients emit_rows_backward(Tape& tape, Value dy, Value x, Value u,
                                   const PhraseInputs& places) {
  Plan& plan = tape.plan();
  PhraseGradients gradients;
  const Value rows = tape.saved(x);  // a copy of x may stand for it, which needs no gradient
  Step step{
      "phrase_rows_backward", {dy, rows, places.offsets, places.phrases, places.spans}, {}, {}};
  const auto want = [&](Value value, std::optional<Value>& gradient) {
    if (!tape.needs_gradient(value)) return;
    gradient = plan.temporary(value.dtype, value.rows, value.width);
    step.writes.push_back(*gradient);
  };
  want(x, gradients.dx);
  want(u, gradients.du);
  step.run = [=](const Frame& frame) {
    by_head_dtype(x.dtype, [&]<typename T>(T) {
      kernels::phrase_rows_backward<T>(
          frame.data<const T>(dy), frame.data<const T>(rows), places_of(frame, places), x.width,
          gradients.dx ? frame.data<T>(*gradients.dx) : nullptr,
          gradients.du ? frame.data<T>(*gradients.du) : nullptr, frame.pool());
    });
  };
  plan.add(std::move(step));
  return gradients;
}

}  // namespace

Value phrase_rows(Tape& tape, Value x, Value u, const PhraseInputs& places) {
  refuse_gpu(tape);
  const Value y = tape.plan().temporary(x.dtype, places.spans.rows, x.width);
  tape.plan().add({"phrase_rows",
                   {x, u, places.offsets, places.phrases, places.spans},
                   {y},
                   [=](const Frame& frame) {
                     by_head_dtype(x.dtype, [&]<typename T>(T) {
                       kernels::phrase_rows<T>(frame.data<const T>(x), frame.data<const T>(u),
                                               places_of(frame, places), x.width, frame.data<T>(y),
                                               frame.pool());
                     });
                   }});
  if (!tape.needs_gradient(x) && !tape.needs_gradient(u)) return y;
  tape.on_backward(y, [&tape, x, y, u, places] {
    const PhraseGradients gradients = emit_rows_backward(tape, *tape.gradient(y), x, u, places);
    if (gradients.dx) accumulate(tape, x, *gradients.dx);
    if (gradients.du) accumulate(tape, u, *gradients.du);
  });
  return y;
}

Value phrase_means(Tape& tape, Value x, Axis texts, const PhraseInputs& places) {
  refuse_gpu(tape);
  const Value y = tape.plan().temporary(x.dtype, texts, x.width);
  const std::vector<Value> where = {places.offsets, places.phrases, places.spans};
  Step step{"phrase_means", where, {y}, [=](const Frame& frame) {
              by_head_dtype(x.dtype, [&]<typename T>(T) {
                kernels::phrase_means<T>(frame.data<const T>(x), places_of(frame, places), x.width,
                                         frame.data<T>(y), frame.pool());
              });
            }};
  step.reads.push_back(x);
  tape.plan().add(std::move(step));
  if (!tape.needs_gradient(x)) return y;
  tape.on_backward(y, [&tape, x, y, where, places] {
    const Value dy = *tape.gradient(y);
    const Value dx = tape.plan().temporary(x.dtype, x.rows, x.width);
    Step backward{"phrase_means_backward", where, {dx}, [=](const Frame& frame) {
                    by_head_dtype(x.dtype, [&]<typename T>(T) {
                      kernels::phrase_means_backward<T>(frame.data<const T>(dy),
                                                        places_of(frame, places), x.width,
                                                        frame.data<T>(dx), frame.pool());
                    });
                  }};
    backward.reads.push_back(dy);
    tape.plan().add(std::move(backward));
    accumulate(tape, x, dx);
  });
  return y;
}

Value add_scaled(Tape& tape, Value a, Value b, float factor) {
  refuse_gpu(tape);
  const Value y = tape.plan().temporary(a.dtype, a.rows, a.width);
  tape.plan().add({"add_scaled", {a, b}, {y}, [=](const Frame& frame) {
                     by_head_dtype(a.dtype, [&]<typename T>(T) {
                       const T* first = frame.data<const T>(a);
                       const T* second = frame.data<const T>(b);
                       T* out = frame.data<T>(y);
                       kernels::for_row_ranges(
                           frame.rows(y), y.width, frame.pool(), [&](int64_t begin, int64_t end) {
                             for (int64_t i = begin * y.width; i < end * y.width; ++i) {
                               out[i] = first[i] + static_cast<T>(factor) * second[i];
                             }
                           });
                     });
                   }});
  if (!tape.needs_gradient(a) && !tape.needs_gradient(b)) return y;
  tape.on_backward(y, [&tape, a, b, y, factor] {
    const Value dy = *tape.gradient(y);
    // The share of b has a tape of its own: nothing is to lead from a gradient on.
    Tape forward(tape.plan());
    if (tape.needs_gradient(b)) accumulate(tape, b, scale(forward, dy, factor));
    if (tape.needs_gradient(a)) accumulate(tape, a, dy);
  });
  return y;
}

}  // namespace hone::ops

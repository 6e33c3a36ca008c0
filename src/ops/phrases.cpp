#include "ops/phrases.h"

#include "kernels/cpu/phrases.h"
#include "kernels/cpu/rows.h"
#include "ops/accumulate.h"
#include "ops/by_head_dtype.h"
#include "ops/scale.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

kernels::PhrasePlaces places_of(const Frame& frame, const PhraseInputs& places) {
  return {frame.rows(places.offsets), frame.data<const int32_t>(places.offsets),
          frame.data<const int32_t>(places.phrases), frame.data<const int32_t>(places.spans)};
}

/// Says where phrases of so many columns lie among so many token rows, which are read by kernels
/// over tokens alone.
kernels::cuda::Phrases on_gpu(const Frame& frame, const PhraseInputs& places, int64_t width,
                              int64_t tokens = 0) {
  kernels::cuda::Phrases at;
  at.texts = frame.rows(places.offsets);
  at.tokens = tokens;
  at.places = frame.rows(places.spans);
  at.width = width;
  at.offsets = frame.data<const int32_t>(places.offsets);
  at.phrases = frame.data<const int32_t>(places.phrases);
  at.spans = frame.data<const int32_t>(places.spans);
  return at;
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
  step.run = [=, gpu = plan.gpu()](const Frame& frame) {
    if (gpu) {
      return frame.gpu().check(frame.gpu().api->phrase_rows_backward(
          on_gpu(frame, places, x.width, frame.rows(x)), frame.data<const float>(dy),
          frame.data<const float>(rows), gradients.dx ? frame.data<float>(*gradients.dx) : nullptr,
          gradients.du ? frame.data<float>(*gradients.du) : nullptr, frame.gpu().stream));
    }
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

/// Emits factor * x with a tape of its own: nothing is to lead from it on.
Value emit_scaled(Plan& plan, Value x, float factor) {
  Tape apart(plan);
  return scale(apart, x, factor);
}

}  // namespace

Value phrase_rows(Tape& tape, Value x, Value u, const PhraseInputs& places) {
  const Value y = tape.plan().temporary(x.dtype, places.spans.rows, x.width);
  tape.plan().add({"phrase_rows",
                   {x, u, places.offsets, places.phrases, places.spans},
                   {y},
                   [=, gpu = tape.gpu()](const Frame& frame) {
                     if (gpu) {
                       return frame.gpu().check(frame.gpu().api->phrase_rows(
                           on_gpu(frame, places, x.width), frame.data<const float>(x),
                           frame.data<const float>(u), frame.data<float>(y), frame.gpu().stream));
                     }
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
  const Value y = tape.plan().temporary(x.dtype, texts, x.width);
  const std::vector<Value> where = {places.offsets, places.phrases, places.spans};
  Step step{"phrase_means", where, {y}, [=, gpu = tape.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->phrase_means(
                    on_gpu(frame, places, x.width), frame.data<const float>(x),
                    frame.data<float>(y), frame.gpu().stream));
              }
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
    Step backward{"phrase_means_backward", where, {dx}, [=, gpu = tape.gpu()](const Frame& frame) {
                    if (gpu) {
                      return frame.gpu().check(frame.gpu().api->phrase_means_backward(
                          on_gpu(frame, places, x.width), frame.data<const float>(dy),
                          frame.data<float>(dx), frame.gpu().stream));
                    }
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
  const Value y = tape.plan().temporary(a.dtype, a.rows, a.width);
  const Value share = tape.gpu() ? emit_scaled(tape.plan(), b, factor) : b;
  tape.plan().add({"add_scaled", {a, share}, {y}, [=, gpu = tape.gpu()](const Frame& frame) {
                     if (gpu) {
                       return frame.gpu().check(frame.gpu().api->add(
                           y.dtype, frame.data<const void>(a), frame.data<const void>(share),
                           frame.rows(y) * y.width, frame.data<void>(y), frame.gpu().stream));
                     }
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
    if (tape.needs_gradient(b)) accumulate(tape, b, emit_scaled(tape.plan(), dy, factor));
    if (tape.needs_gradient(a)) accumulate(tape, a, dy);
  });
  return y;
}

}  // namespace hone::ops

#include "ops/spans.h"

#include <algorithm>

#include "kernels/cpu/chart.h"
#include "kernels/cpu/span_rows.h"
#include "ops/accumulate.h"
#include "ops/by_head_dtype.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

kernels::SpanPlaces places_of(const Frame& frame, const SpanInputs& spans) {
  return {frame.rows(spans.offsets),
          frame.data<const int32_t>(spans.offsets),
          frame.data<const int32_t>(spans.bounds),
          frame.data<const int32_t>(spans.cells),
          frame.data<const int32_t>(spans.before),
          frame.data<const int32_t>(spans.behind)};
}

/// Gives sizes and offsets, which all kernels read.
kernels::cuda::Spans on_gpu(const Frame& frame, const SpanInputs& spans) {
  kernels::cuda::Spans at;
  at.texts = frame.rows(spans.offsets);
  at.cells = frame.extents()[spans.cell_axis];
  at.bound_offsets = frame.data<const int32_t>(spans.bounds);
  at.cell_offsets = frame.data<const int32_t>(spans.cells);
  return at;
}

/// Gives the rows beside bounds, too, among so many tokens.
kernels::cuda::Spans rows_on_gpu(const Frame& frame, const SpanInputs& spans, int64_t tokens = 0) {
  kernels::cuda::Spans at = on_gpu(frame, spans);
  at.tokens = tokens;
  at.bounds = frame.rows(spans.before);
  at.before = frame.data<const int32_t>(spans.before);
  at.behind = frame.data<const int32_t>(spans.behind);
  return at;
}

/// Says what charts work in: those of a GPU all have places of their own.
std::function<size_t(const Extents&, int)> chart_memory(const Plan& plan, const SpanInputs& spans,
                                                        size_t of_a_thread) {
  if (!plan.gpu()) {
    return [=](const Extents&, int threads) { return static_cast<size_t>(threads) * of_a_thread; };
  }
  return [=](const Extents& extents, int) {
    return kernels::cuda::chart_workspace(extents[spans.before.rows], extents[spans.cell_axis]);
  };
}

Value emit_backward(Plan& plan, Value dy, Value x, const SpanInputs& spans) {
  const Value dx = plan.temporary(x.dtype, x.rows, x.width);
  plan.add({"span_rows_backward",
            {dy, spans.offsets, spans.bounds, spans.cells, spans.before, spans.behind},
            {dx},
            [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->span_rows_backward(
                    rows_on_gpu(frame, spans, frame.rows(dx)), frame.data<const float>(dy),
                    dy.width, frame.data<float>(dx), frame.gpu().stream));
              }
              by_head_dtype(x.dtype, [&]<typename T>(T) {
                kernels::span_rows_backward<T>(frame.data<const T>(dy), places_of(frame, spans),
                                               dy.width, frame.data<T>(dx), frame.pool());
              });
            }});
  return dx;
}

struct TreeLoss {
  TreeLossInputs in;
  double weight;
  Value losses;  ///< fp64 [texts, 1]
  Value total;
  std::optional<Value> dscores;

  void run_gpu(const Frame& frame) const {
    kernels::cuda::TreeLoss args;
    args.spans = on_gpu(frame, in.spans);
    args.scores = frame.data<const float>(in.scores);
    args.gold = frame.data<const int32_t>(in.gold);
    if (in.given.present()) args.given = frame.data<const int32_t>(in.given);
    args.scale = frame.data<const kernels::cuda::LossScale>(in.scale);
    args.weight = weight;
    args.losses = frame.data<double>(losses);
    args.total = frame.data<double>(total);
    if (dscores) args.dscores = frame.data<float>(*dscores);
    frame.gpu().check(frame.gpu().api->tree_loss(args, frame.workspace(), frame.gpu().stream));
  }

  template <typename T>
  void run(const Frame& frame) const {
    const int64_t texts = frame.rows(in.spans.offsets);
    const auto* bounds = frame.data<const int32_t>(in.spans.bounds);
    const auto* cells = frame.data<const int32_t>(in.spans.cells);
    const auto* scale = frame.data<const double>(in.scale);
    const T* scores = frame.data<const T>(in.scores);
    const auto* gold = frame.data<const int32_t>(in.gold);
    const auto* given = in.given.present() ? frame.data<const int32_t>(in.given) : nullptr;
    auto* each = frame.data<double>(losses);
    T* gradient = dscores ? frame.data<T>(*dscores) : nullptr;
    const double factor = scale[1] * weight / scale[0];
    frame.pool().run(texts, [&](int64_t text, int worker) {
      void* const memory = static_cast<std::byte*>(frame.workspace()) +
                           static_cast<size_t>(worker) * kernels::chart_workspace();
      const int64_t words = bounds[text + 1] - bounds[text] - 1;
      const int64_t first = cells[text], count = cells[text + 1] - first;
      T* const own = gradient ? gradient + first : nullptr;
      if (given && given[text] == 0) {
        each[text] = 0;
        if (own) std::fill_n(own, count, T{0});
        return;
      }
      each[text] = kernels::tree_partition<T>(scores + first, words, own, memory);
      for (int64_t cell = first; cell < first + count; ++cell) {
        // The whole is a constituent of every tree, and its score is read by nobody.
        const bool whole = cell == first + chart_cell_of_whole(words);
        if (!whole) each[text] -= gold[cell] * static_cast<double>(scores[cell]);
        if (!gradient) continue;
        const double error = whole ? 0 : static_cast<double>(gradient[cell]) - gold[cell];
        gradient[cell] = static_cast<T>(factor * error);
      }
    });
    double sum = 0;
    for (int64_t text = 0; text < texts; ++text) sum += each[text];
    *frame.data<double>(total) = weight * sum / scale[0];
  }

  static int64_t chart_cell_of_whole(int64_t words) { return kernels::chart_cell(words, 0, words); }
};

/// Finds the phrases of a text from its scores, and writes them into its places.
struct ParsePhrases {
  ParseInputs in;
  double threshold;
  Value marginals;
  Value out;

  size_t workspace() const {
    return kernels::chart_workspace() + 2 * sizeof(int32_t) * kernels::kMostChartWords;
  }

  void run_gpu(const Frame& frame) const {
    kernels::cuda::ParsePhrases args;
    args.spans = rows_on_gpu(frame, in.spans);
    args.places = frame.rows(in.known);
    args.scores = frame.data<const float>(in.scores);
    args.given = frame.data<const int32_t>(in.given);
    args.phrases = frame.data<const int32_t>(in.phrases);
    args.known = frame.data<const int32_t>(in.known);
    args.threshold = threshold;
    args.marginals = frame.data<float>(marginals);
    args.out = frame.data<int32_t>(out);
    frame.gpu().check(frame.gpu().api->parse_phrases(args, frame.workspace(), frame.gpu().stream));
  }

  void run(const Frame& frame) const {
    const auto* phrases = frame.data<const int32_t>(in.phrases);
    const auto* given = frame.data<const int32_t>(in.given);
    const auto* known = frame.data<const int32_t>(in.known);
    auto* const to = frame.data<int32_t>(out);
    frame.pool().run(frame.rows(in.spans.offsets), [&](int64_t text, int worker) {
      const int64_t first = phrases[text], end = phrases[text + 1];
      if (given[text] != 0) {
        std::copy(known + 2 * first, known + 2 * end, to + 2 * first);
        return;
      }
      std::fill(to + 2 * first, to + 2 * end, 0);
      if (end > first) parse(frame, text, worker, end - first, to + 2 * first);
    });
  }

  /// Writes at most `places` phrases.
  void parse(const Frame& frame, int64_t text, int worker, int64_t places, int32_t* to) const {
    const auto* bounds = frame.data<const int32_t>(in.spans.bounds) + text;
    const int64_t cell = frame.data<const int32_t>(in.spans.cells)[text];
    const int64_t words = bounds[1] - bounds[0] - 1;
    auto* const memory =
        static_cast<std::byte*>(frame.workspace()) + static_cast<size_t>(worker) * workspace();
    auto* const found = reinterpret_cast<int32_t*>(memory + kernels::chart_workspace());
    float* const own = frame.data<float>(marginals) + cell;
    kernels::tree_partition<float>(frame.data<const float>(in.scores) + cell, words, own, memory);
    const int64_t count = kernels::best_tree<float>(own, words, threshold, found, memory);
    const auto* behind = frame.data<const int32_t>(in.spans.behind) + bounds[0];
    const auto* before = frame.data<const int32_t>(in.spans.before) + bounds[0];
    for (int64_t i = 0; i < count && places > 0; ++i) {
      const int32_t begin = found[2 * i], end = found[2 * i + 1];
      if (end - begin == words) continue;
      *to++ = behind[begin];
      *to++ = before[end] + 1;
      --places;
    }
  }
};

}  // namespace

Value span_rows(Tape& tape, Value x, const SpanInputs& spans) {
  const Value y = tape.plan().temporary(x.dtype, spans.cell_axis, x.width / 4);
  tape.plan().add({"span_rows",
                   {x, spans.offsets, spans.bounds, spans.cells, spans.before, spans.behind},
                   {y},
                   [=, gpu = tape.gpu()](const Frame& frame) {
                     if (gpu) {
                       return frame.gpu().check(frame.gpu().api->span_rows(
                           rows_on_gpu(frame, spans), frame.data<const float>(x), y.width,
                           frame.data<float>(y), frame.gpu().stream));
                     }
                     by_head_dtype(x.dtype, [&]<typename T>(T) {
                       kernels::span_rows<T>(frame.data<const T>(x), places_of(frame, spans),
                                             y.width, frame.data<T>(y), frame.pool());
                     });
                   }});
  if (!tape.needs_gradient(x)) return y;
  tape.on_backward(y, [&tape, x, y, spans] {
    accumulate(tape, x, emit_backward(tape.plan(), *tape.gradient(y), x, spans));
  });
  return y;
}

Value tree_loss(Tape& tape, const TreeLossInputs& inputs, double weight) {
  Plan& plan = tape.plan();
  TreeLoss op{inputs, weight, plan.temporary(DType::f64, inputs.spans.offsets.rows, 1),
              plan.temporary(DType::f64, Axis::one, 1), std::nullopt};
  const SpanInputs& spans = inputs.spans;
  Step step{"tree_loss",
            {inputs.scores, inputs.gold, spans.offsets, spans.bounds, spans.cells, inputs.scale},
            {op.losses, op.total},
            {}};
  if (inputs.given.present()) step.reads.push_back(inputs.given);
  if (tape.needs_gradient(inputs.scores)) {
    op.dscores = plan.temporary(inputs.scores.dtype, inputs.scores.rows, 1);
    step.writes.push_back(*op.dscores);
    tape.set_gradient(inputs.scores, *op.dscores);
  }
  step.run = [op, gpu = plan.gpu()](const Frame& frame) {
    if (gpu) return op.run_gpu(frame);
    by_head_dtype(op.in.scores.dtype, [&]<typename T>(T) { op.run<T>(frame); });
  };
  step.workspace = chart_memory(plan, spans, kernels::chart_workspace());
  plan.add(std::move(step));
  plan.keep(op.total);
  return op.total;
}

Value parse_phrases(Tape& tape, const ParseInputs& inputs, double threshold) {
  Plan& plan = tape.plan();
  const SpanInputs& spans = inputs.spans;
  const ParsePhrases op{inputs, threshold, plan.temporary(DType::f32, inputs.scores.rows, 1),
                        plan.temporary(DType::i32, inputs.known.rows, 2)};
  Step step{
      "parse_phrases",
      {inputs.scores, inputs.given, inputs.phrases, inputs.known, spans.offsets, spans.bounds,
       spans.cells, spans.before, spans.behind},
      {op.marginals, op.out},
      [op, gpu = plan.gpu()](const Frame& frame) { gpu ? op.run_gpu(frame) : op.run(frame); }};
  step.workspace = chart_memory(plan, spans, op.workspace());
  plan.add(std::move(step));
  return op.out;
}

}  // namespace hone::ops

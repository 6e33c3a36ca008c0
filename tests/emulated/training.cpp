// The losses and the optimizers.

#include <cmath>
#include <vector>

#include "emulated/numbers.h"
#include "emulated/queue.h"
#include "kernels/cpu/loss.h"
#include "kernels/cuda/api.h"

namespace hone::kernels::cuda {

using emulated::store;
using emulated::submit;

namespace {

/// Computes one row's loss and sets its gradient.
double row_loss(const Loss& a, int64_t row, const kernels::LossScale& scale, float* dlogits) {
  const float* x = a.logits + row * a.classes;
  const float* t = a.targets ? a.targets + row * a.classes : nullptr;
  float loss = 0;
  const kernels::LossOutputs<float> outputs{&loss, nullptr, dlogits};
  if (a.kind == LossKind::cross_entropy) {
    if (a.labels[row] < 0) {
      std::fill(dlogits, dlogits + a.classes, 0.0f);
      return 0;
    }
    kernels::cross_entropy<float>(x, a.labels + row, 1, a.classes, {a.weights, a.label_smoothing},
                                  scale, outputs);
  } else if (a.kind == LossKind::soft_cross_entropy) {
    kernels::soft_cross_entropy(x, t, 1, a.classes, a.label_smoothing, scale, outputs);
  } else if (a.kind == LossKind::squared_error) {
    kernels::squared_error(x, t, 1, a.classes, scale, outputs);
  } else {
    kernels::binary_cross_entropy(x, t, 1, a.classes, a.weights, scale, outputs);
  }
  return loss;
}

struct Step {
  double factor;        ///< multiplies the gradients
  double rate1, rate2;  ///< what AdamW divides its moments by
};

double adamw_step(const OptimizerState& s, const Step& step, const OptimizerPiece& piece,
                  const OptimizerArrays& a, int64_t at, double g) {
  const double lr = s.lr * piece.lr_scale;
  double p = a.parameters[at + piece.shift];
  if (piece.decay) p -= lr * s.weight_decay * p;
  const double m = a.m[at] = static_cast<float>(s.beta1 * a.m[at] + (1 - s.beta1) * g);
  const double v = a.v[at] = static_cast<float>(s.beta2 * a.v[at] + (1 - s.beta2) * g * g);
  return p - lr * (m / step.rate1) / (std::sqrt(v / step.rate2) + s.eps);
}

double sgd_step(const OptimizerState& s, const Step&, const OptimizerPiece& piece,
                const OptimizerArrays& a, int64_t at, double g) {
  const double p = a.parameters[at + piece.shift];
  if (piece.decay) g += s.weight_decay * p;
  if (a.m) {
    const double m = a.m[at] = static_cast<float>(s.momentum * a.m[at] + g);
    g = s.nesterov ? g + s.momentum * m : m;
  }
  return p - s.lr * piece.lr_scale * g;
}

bool is_touched(const OptimizerPiece& piece, int64_t i) {
  return !piece.touched || piece.touched[i / piece.row_width];
}

template <typename Rule>
void take_step(const OptimizerArrays& a, const std::vector<OptimizerPiece>& pieces,
               OptimizerState& s, const Rule& rule) {
  double squares = 0;
  for (const OptimizerPiece& piece : pieces) {
    for (int64_t i = 0; i < piece.count; ++i) {
      const double g = a.gradients[piece.begin + i + piece.gradient_shift];
      if (is_touched(piece, i)) squares += g * g;
    }
  }
  s.skipped = std::isfinite(squares) ? 0 : 1;
  s.grad_norm = std::sqrt(squares) / s.loss_scale;
  if (!s.skipped) ++s.step;
  const auto count = static_cast<double>(s.step);
  const Step step = {
      (s.max_grad_norm > 0 ? std::min(1.0, s.max_grad_norm / (s.grad_norm + 1e-6)) : 1.0) /
          s.loss_scale,
      1 - std::pow(s.beta1, count), 1 - std::pow(s.beta2, count)};
  for (const OptimizerPiece& piece : pieces) {
    for (int64_t i = 0; i < piece.count; ++i) {
      const int64_t at = piece.begin + i;
      float& gradient = a.gradients[at + piece.gradient_shift];
      if (!s.skipped) {
        const double g = is_touched(piece, i) ? gradient * step.factor : 0;
        const double p = rule(s, step, piece, a, at, g);
        a.parameters[at + piece.shift] = static_cast<float>(p);
        if (a.copy) store(a.copy_dtype, a.copy, at + piece.shift, p);
      }
      if (piece.zero) gradient = 0;
    }
    if (piece.touched) std::fill_n(piece.touched, piece.count / piece.row_width, uint8_t{0});
  }
}

template <typename Rule>
Status submit_step(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
                   OptimizerState* state, Stream stream, const Rule& rule) {
  return submit(stream, [=] {
    take_step(arrays, std::vector<OptimizerPiece>(pieces, pieces + count), *state, rule);
  });
}

}  // namespace

Status loss(const Loss& args, Stream stream) {
  if (args.teacher) return "the emulation has no teacher";
  return submit(stream, [a = args] {
    const kernels::LossScale scale{a.scale->count / a.weight, a.scale->scale};
    std::vector<float> slopes(static_cast<size_t>(a.classes));
    double sum = 0;
    for (int64_t row = 0; row < a.rows; ++row) {
      const double own = row_loss(a, row, scale, slopes.data());
      sum += own;
      if (a.losses) a.losses[row] = static_cast<float>(own);
      if (a.dlogits) std::copy(slopes.begin(), slopes.end(), a.dlogits + row * a.classes);
    }
    if (a.loss) *a.loss = sum / scale.count;
  });
}

size_t optimizer_workspace(int64_t) { return sizeof(double); }
Status adamw(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
             OptimizerState* state, void*, Stream stream) {
  return submit_step(arrays, pieces, count, state, stream, adamw_step);
}
Status sgd(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
           OptimizerState* state, void*, Stream stream) {
  return submit_step(arrays, pieces, count, state, stream, sgd_step);
}

}  // namespace hone::kernels::cuda

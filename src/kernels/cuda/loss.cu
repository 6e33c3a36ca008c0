#include "kernels/cuda/loss.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kThreads = 256;
/// A warp takes a row of at least so many classes, a thread one of fewer.
constexpr int64_t kManyClasses = 32;

/// The threads that share a row: thread `first` of them takes every kCount-th class from there on.
template <int kCount>
struct Lanes {
  int64_t first;

  __device__ double sum(double value) const {
    for (int offset = kCount / 2; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
  }
  __device__ double most(double value) const {
    for (int offset = kCount / 2; offset > 0; offset /= 2) {
      value = fmax(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
  }
};

__device__ double weight_of(const float* weights, int64_t index) {
  return weights ? static_cast<double>(weights[index]) : 1.0;
}

/// Computes the formulas of kernels/cpu/loss.cpp for one row; `factor` multiplies the gradient.
/// Returns the loss.
template <int kLanes>
__device__ double cross_entropy_row(const Loss& a, Lanes<kLanes> lanes, int64_t row,
                                    double factor) {
  const float* x = a.logits + row * a.classes;
  const int64_t label = a.labels[row];
  double largest = x[0], sum = 0, weights = 0;
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) largest = fmax(largest, double{x[c]});
  largest = lanes.most(largest);
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) {
    sum += exp(x[c] - largest);
    weights += weight_of(a.weights, c);
  }
  sum = lanes.sum(sum);
  weights = lanes.sum(weights);
  const double log_sum = largest + log(sum);
  const double spread = double{a.label_smoothing} / static_cast<double>(a.classes);
  const bool counts = label >= 0;
  const double target =
      counts ? (1.0 - double{a.label_smoothing}) * weight_of(a.weights, label) : 0.0;
  double loss = 0;
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) {
    const double smooth = spread * weight_of(a.weights, c);
    if (counts) loss += smooth * (log_sum - x[c]);
    if (!a.dlogits) continue;
    const double slope =
        exp(x[c] - log_sum) * (target + spread * weights) - smooth - (c == label ? target : 0.0);
    a.dlogits[row * a.classes + c] = counts ? static_cast<float>(slope * factor) : 0.0f;
  }
  return lanes.sum(loss) + (counts ? target * (log_sum - x[label]) : 0.0);
}

template <int kLanes>
__device__ double soft_cross_entropy_row(const Loss& a, Lanes<kLanes> lanes, int64_t row,
                                         double factor) {
  const float* x = a.logits + row * a.classes;
  const float* t = a.targets + row * a.classes;
  double largest = x[0], sum = 0, shares = 0;
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) largest = fmax(largest, double{x[c]});
  largest = lanes.most(largest);
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) {
    sum += exp(x[c] - largest);
    shares += double{t[c]};
  }
  sum = lanes.sum(sum);
  shares = lanes.sum(shares);
  const double log_sum = largest + log(sum);
  const double spread = double{a.label_smoothing} / static_cast<double>(a.classes);
  double loss = 0;
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) {
    const double target = (1.0 - double{a.label_smoothing}) * double{t[c]} + spread * shares;
    loss += target * (log_sum - x[c]);
    if (!a.dlogits) continue;
    const double slope = shares * exp(x[c] - log_sum) - target;
    a.dlogits[row * a.classes + c] = static_cast<float>(slope * factor);
  }
  return lanes.sum(loss);
}

template <int kLanes>
__device__ double squared_error_row(const Loss& a, Lanes<kLanes> lanes, int64_t row,
                                    double factor) {
  double loss = 0;
  const auto width = static_cast<double>(a.classes);
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) {
    const int64_t i = row * a.classes + c;
    const double error = double{a.logits[i]} - double{a.targets[i]};
    loss += error * error;
    if (a.dlogits) a.dlogits[i] = static_cast<float>(2.0 * error / width * factor);
  }
  return lanes.sum(loss) / width;
}

template <int kLanes>
__device__ double binary_cross_entropy_row(const Loss& a, Lanes<kLanes> lanes, int64_t row,
                                           double factor) {
  double loss = 0;
  const auto width = static_cast<double>(a.classes);
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) {
    const int64_t i = row * a.classes + c;
    const double x = a.logits[i], t = a.targets[i];
    const double weight = 1.0 + (weight_of(a.weights, c) - 1.0) * t;
    const double small = exp(-fabs(x));
    const double softplus = log1p(small) + fmax(-x, 0.0);
    const double slope = (x < 0 ? 1.0 : small) / (1.0 + small);
    loss += (1.0 - t) * x + weight * softplus;
    if (a.dlogits) {
      a.dlogits[i] = static_cast<float>((1.0 - t - weight * slope) / width * factor);
    }
  }
  return lanes.sum(loss) / width;
}

template <int kLanes>
__device__ double log_sum_exp(const float* x, Lanes<kLanes> lanes, int64_t count,
                              double temperature) {
  double largest = x[0], sum = 0;
  for (int64_t c = lanes.first; c < count; c += kLanes) largest = fmax(largest, double{x[c]});
  largest = lanes.most(largest);
  for (int64_t c = lanes.first; c < count; c += kLanes) sum += exp((x[c] - largest) / temperature);
  return largest / temperature + log(lanes.sum(sum));
}

__device__ double log_sigmoid(double x) { return fmin(x, 0.0) - log1p(exp(-fabs(x))); }

/// Computes the formulas of kernels/cpu/distill.cpp for one row, and adds to its gradient.
template <int kLanes>
__device__ double teacher_row(const Loss& a, Lanes<kLanes> lanes, int64_t row, double factor) {
  const float* x = a.logits + row * a.classes;
  const float* y = a.teacher + row * a.classes;
  const double t = a.temperature;
  const auto width = static_cast<double>(a.classes);
  const bool classes = a.kind == LossKind::cross_entropy || a.kind == LossKind::soft_cross_entropy;
  const double x_sum = classes ? log_sum_exp(x, lanes, a.classes, t) : 0.0;
  const double y_sum = classes ? log_sum_exp(y, lanes, a.classes, t) : 0.0;
  double loss = 0;
  for (int64_t c = lanes.first; c < a.classes; c += kLanes) {
    double slope = 0;
    if (classes) {
      const double own = x[c] / t - x_sum, taught = y[c] / t - y_sum;
      loss += t * t * exp(taught) * (taught - own);
      slope = t * (exp(own) - exp(taught));
    } else if (a.kind == LossKind::squared_error) {
      const double error = double{x[c]} - double{y[c]};
      loss += error * error / width;
      slope = 2.0 * error / width;
    } else {
      const double own = x[c] / t, taught = y[c] / t, p = exp(log_sigmoid(taught));
      loss += t * t / width *
              (p * (log_sigmoid(taught) - log_sigmoid(own)) +
               (1.0 - p) * (log_sigmoid(-taught) - log_sigmoid(-own)));
      slope = t * (exp(log_sigmoid(own)) - p) / width;
    }
    if (a.dlogits) a.dlogits[row * a.classes + c] += static_cast<float>(slope * factor);
  }
  return lanes.sum(loss);
}

/// Runs in one block: a batch has few rows. The rows of a thread, or of a warp's first, are added
/// in order, then the threads' sums.
template <int kLanes>
__global__ void __launch_bounds__(kThreads) loss_kernel(Loss a) {
  __shared__ double sums[kThreads];
  const double count = a.scale->count / a.weight;
  const double factor = a.scale->scale / count;
  const double share = a.teacher ? 1.0 - a.teacher_weight : 1.0;
  const Lanes<kLanes> lanes{threadIdx.x % kLanes};
  double sum = 0;
  for (int64_t row = threadIdx.x / kLanes; row < a.rows; row += kThreads / kLanes) {
    double loss = 0;
    if (a.kind == LossKind::cross_entropy) {
      loss = share * cross_entropy_row(a, lanes, row, factor * share);
    } else if (a.kind == LossKind::soft_cross_entropy) {
      loss = share * soft_cross_entropy_row(a, lanes, row, factor * share);
    } else if (a.kind == LossKind::squared_error) {
      loss = share * squared_error_row(a, lanes, row, factor * share);
    } else {
      loss = share * binary_cross_entropy_row(a, lanes, row, factor * share);
    }
    if (a.teacher) {
      loss += a.teacher_weight * teacher_row(a, lanes, row, factor * a.teacher_weight);
    }
    if (lanes.first > 0) continue;
    if (a.losses) a.losses[row] = static_cast<float>(loss);
    sum += loss;
  }
  sums[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(half)) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0 && a.loss) *a.loss = sums[0] / count;
}

}  // namespace

Status loss(const Loss& args, Stream stream) {
  const auto kernel = args.classes < kManyClasses ? loss_kernel<1> : loss_kernel<32>;
  kernel<<<1, kThreads, 0, stream_of(stream)>>>(args);
  return launched();
}

}  // namespace hone::kernels::cuda

#include "kernels/cuda/loss.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ double weight_of(const float* weights, int64_t index) {
  return weights ? static_cast<double>(weights[index]) : 1.0;
}

/// Computes the formulas of kernels/cpu/loss.cpp for one row; `factor` multiplies the gradient.
/// Returns the loss.
__device__ double cross_entropy_row(const Loss& a, int64_t row, double factor) {
  const float* x = a.logits + row * a.classes;
  const int64_t label = a.labels[row];
  double largest = x[0], sum = 0, weights = 0;
  for (int64_t c = 1; c < a.classes; ++c) largest = fmax(largest, double{x[c]});
  for (int64_t c = 0; c < a.classes; ++c) {
    sum += exp(x[c] - largest);
    weights += weight_of(a.weights, c);
  }
  const double log_sum = largest + log(sum);
  const double spread = double{a.label_smoothing} / static_cast<double>(a.classes);
  const bool counts = label >= 0;
  const double target =
      counts ? (1.0 - double{a.label_smoothing}) * weight_of(a.weights, label) : 0.0;
  double loss = counts ? target * (log_sum - x[label]) : 0.0;
  for (int64_t c = 0; c < a.classes; ++c) {
    const double smooth = spread * weight_of(a.weights, c);
    if (counts) loss += smooth * (log_sum - x[c]);
    if (!a.dlogits) continue;
    const double slope =
        exp(x[c] - log_sum) * (target + spread * weights) - smooth - (c == label ? target : 0.0);
    a.dlogits[row * a.classes + c] = counts ? static_cast<float>(slope * factor) : 0.0f;
  }
  return loss;
}

__device__ double squared_error_row(const Loss& a, int64_t row, double factor) {
  double loss = 0;
  const auto width = static_cast<double>(a.classes);
  for (int64_t i = row * a.classes; i < (row + 1) * a.classes; ++i) {
    const double error = double{a.logits[i]} - double{a.targets[i]};
    loss += error * error;
    if (a.dlogits) a.dlogits[i] = static_cast<float>(2.0 * error / width * factor);
  }
  return loss / width;
}

__device__ double binary_cross_entropy_row(const Loss& a, int64_t row, double factor) {
  double loss = 0;
  const auto width = static_cast<double>(a.classes);
  for (int64_t c = 0; c < a.classes; ++c) {
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
  return loss / width;
}

/// Runs in one block: a batch has few rows. A thread's rows are added in order, then the threads'
/// sums.
__global__ void __launch_bounds__(kThreads) loss_kernel(Loss a) {
  __shared__ double sums[kThreads];
  const double count = a.scale->count / a.weight;
  const double factor = a.scale->scale / count;
  double sum = 0;
  for (int64_t row = threadIdx.x; row < a.rows; row += kThreads) {
    double loss = 0;
    if (a.kind == LossKind::cross_entropy) {
      loss = cross_entropy_row(a, row, factor);
    } else if (a.kind == LossKind::squared_error) {
      loss = squared_error_row(a, row, factor);
    } else {
      loss = binary_cross_entropy_row(a, row, factor);
    }
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
  loss_kernel<<<1, kThreads, 0, stream_of(stream)>>>(args);
  return launched();
}

}  // namespace hone::kernels::cuda

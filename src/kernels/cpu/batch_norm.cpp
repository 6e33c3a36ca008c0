#include "kernels/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/rows.h"
#include "tensor/dtype.h"

namespace hone::kernels {
namespace {

/// Rows that one partial sum covers, whatever the number of threads.
constexpr int64_t kChunkRows = 256;

int64_t chunks_of(int64_t rows) { return (rows + kChunkRows - 1) / kChunkRows; }

float load(float x) { return x; }
double load(double x) { return x; }
float load(bf16 x) { return to_float(x); }
void store(float x, float& out) { out = x; }
void store(double x, double& out) { out = x; }
void store(float x, bf16& out) { out = to_bf16(x); }

/// Computes two sums a channel over all rows: add(row, channel, a, b) adds a row's share. The sums
/// are double and lie in `parts`, [chunks, 2, width]; the first chunk's are the result.
template <typename Add>
void sum_channels(int64_t rows, int64_t width, double* parts, ThreadPool& pool, const Add& add) {
  const int64_t chunks = std::max<int64_t>(1, chunks_of(rows));
  pool.run(chunks, [&](int64_t chunk, int) {
    double* own = parts + chunk * 2 * width;
    std::fill(own, own + 2 * width, 0.);
    const int64_t end = std::min(rows, (chunk + 1) * kChunkRows);
    for (int64_t row = chunk * kChunkRows; row < end; ++row) {
      for (int64_t i = 0; i < width; ++i) add(row, i, own[i], own[width + i]);
    }
  });
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    for (int64_t i = 0; i < 2 * width; ++i) parts[i] += parts[chunk * 2 * width + i];
  }
}

/// Adds two sums a channel up over all parts of the batch; gives the rows of all parts.
double sum_parts(int64_t rows, int64_t width, double* sums, const SumOverParts& over_parts) {
  if (!over_parts) return static_cast<double>(rows);
  double& count = sums[2 * width];
  count = static_cast<double>(rows);
  over_parts({sums, static_cast<size_t>(2 * width + 1)});
  return count;
}

template <typename T>
void normalize(const BatchNorm<T>& norm, const T* x, int64_t rows, int64_t width,
               const Accumulator<T>* mean, const Accumulator<T>* rstd, T* y, ThreadPool& pool) {
  for_row_ranges(rows, width, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        const Accumulator<T> xhat = (load(x[row * width + i]) - mean[i]) * rstd[i];
        store(xhat * norm.weight[i] + norm.bias[i], y[row * width + i]);
      }
    }
  });
}

}  // namespace

size_t batch_norm_workspace(int64_t rows, int64_t width) {
  const int64_t parts = std::max<int64_t>(1, chunks_of(rows)) * 2 * width + 1;
  return static_cast<size_t>(parts) * sizeof(double);
}

template <typename T>
void batch_norm_infer(const BatchNorm<T>& norm, const T* x, int64_t rows, int64_t width, T* y,
                      ThreadPool& pool) {
  for_row_ranges(rows, width, pool, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < width; ++i) {
      const auto rstd =
          static_cast<Accumulator<T>>(1 / std::sqrt(norm.running_variance[i] + norm.eps));
      for (int64_t row = begin; row < end; ++row) {
        const Accumulator<T> xhat = (load(x[row * width + i]) - norm.running_mean[i]) * rstd;
        store(xhat * norm.weight[i] + norm.bias[i], y[row * width + i]);
      }
    }
  });
}

template <typename T>
void batch_norm_train(const BatchNorm<T>& norm, const T* x, int64_t rows, int64_t width, T* y,
                      Accumulator<T>* mean, Accumulator<T>* rstd, void* workspace, ThreadPool& pool,
                      const SumOverParts& over_parts) {
  if (norm.frozen) {
    for (int64_t i = 0; i < width; ++i) {
      mean[i] = norm.running_mean[i];
      rstd[i] = static_cast<Accumulator<T>>(1 / std::sqrt(norm.running_variance[i] + norm.eps));
    }
    return normalize(norm, x, rows, width, mean, rstd, y, pool);
  }
  auto* parts = static_cast<double*>(workspace);
  sum_channels(rows, width, parts, pool, [&](int64_t row, int64_t i, double& sum, double&) {
    sum += load(x[row * width + i]);
  });
  const double count = sum_parts(rows, width, parts, over_parts);
  if (count == 0) return;
  for (int64_t i = 0; i < width; ++i) mean[i] = static_cast<Accumulator<T>>(parts[i] / count);
  sum_channels(rows, width, parts, pool, [&](int64_t row, int64_t i, double& sum, double&) {
    const double centred = static_cast<double>(load(x[row * width + i])) - mean[i];
    sum += centred * centred;
  });
  sum_parts(rows, width, parts, over_parts);
  for (int64_t i = 0; i < width; ++i) {
    const double variance = parts[i] / count;
    rstd[i] = static_cast<Accumulator<T>>(1 / std::sqrt(variance + norm.eps));
    const double unbiased = count > 1 ? parts[i] / (count - 1) : variance;
    const auto blend = [&](Accumulator<T>& running, double now) {
      running = static_cast<Accumulator<T>>((1 - norm.momentum) * running + norm.momentum * now);
    };
    blend(norm.running_mean[i], mean[i]);
    blend(norm.running_variance[i], unbiased);
  }
  normalize(norm, x, rows, width, mean, rstd, y, pool);
}

template <typename T>
void batch_norm_backward(bool frozen, const T* dy, const T* x, const Accumulator<T>* mean,
                         const Accumulator<T>* rstd, const Accumulator<T>* weight, int64_t rows,
                         int64_t width, T* dx, Accumulator<T>* dweight, Accumulator<T>* dbias,
                         void* workspace, ThreadPool& pool, const SumOverParts& over_parts) {
  auto* parts = static_cast<double*>(workspace);
  sum_channels(rows, width, parts, pool, [&](int64_t row, int64_t i, double& sum, double& dot) {
    const double g = load(dy[row * width + i]);
    sum += g;
    dot += g * (load(x[row * width + i]) - mean[i]) * rstd[i];
  });
  for (int64_t i = 0; i < width; ++i) {
    if (dbias) dbias[i] += static_cast<Accumulator<T>>(parts[i]);
    if (dweight) dweight[i] += static_cast<Accumulator<T>>(parts[width + i]);
  }
  if (frozen) std::fill(parts, parts + 2 * width, 0.);
  const double count =
      frozen ? static_cast<double>(rows) : sum_parts(rows, width, parts, over_parts);
  for_row_ranges(rows, width, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        const int64_t at = row * width + i;
        const double xhat = (load(x[at]) - mean[i]) * rstd[i];
        const double g = load(dy[at]) - parts[i] / count - xhat * parts[width + i] / count;
        store(static_cast<Accumulator<T>>(g * rstd[i] * weight[i]), dx[at]);
      }
    }
  });
}

template void batch_norm_infer<float>(const BatchNorm<float>&, const float*, int64_t, int64_t,
                                      float*, ThreadPool&);
template void batch_norm_infer<double>(const BatchNorm<double>&, const double*, int64_t, int64_t,
                                       double*, ThreadPool&);
template void batch_norm_infer<bf16>(const BatchNorm<bf16>&, const bf16*, int64_t, int64_t, bf16*,
                                     ThreadPool&);
template void batch_norm_train<float>(const BatchNorm<float>&, const float*, int64_t, int64_t,
                                      float*, float*, float*, void*, ThreadPool&,
                                      const SumOverParts&);
template void batch_norm_train<double>(const BatchNorm<double>&, const double*, int64_t, int64_t,
                                       double*, double*, double*, void*, ThreadPool&,
                                       const SumOverParts&);
template void batch_norm_train<bf16>(const BatchNorm<bf16>&, const bf16*, int64_t, int64_t, bf16*,
                                     float*, float*, void*, ThreadPool&, const SumOverParts&);
template void batch_norm_backward<float>(bool, const float*, const float*, const float*,
                                         const float*, const float*, int64_t, int64_t, float*,
                                         float*, float*, void*, ThreadPool&, const SumOverParts&);
template void batch_norm_backward<double>(bool, const double*, const double*, const double*,
                                          const double*, const double*, int64_t, int64_t, double*,
                                          double*, double*, void*, ThreadPool&,
                                          const SumOverParts&);
template void batch_norm_backward<bf16>(bool, const bf16*, const bf16*, const float*, const float*,
                                        const float*, int64_t, int64_t, bf16*, float*, float*,
                                        void*, ThreadPool&, const SumOverParts&);

}  // namespace hone::kernels

#include "kernels/cpu/lstm_f64.h"

#include <algorithm>
#include <cmath>

namespace hone::kernels {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Gives weight_hh by gate and hidden unit.
double weight_at(const PackedMatrix& w, int64_t row, int64_t column) {
  const int64_t width = panel_rows(w.isa);
  return static_cast<const double*>(w.data)[(row / width * w.k + column) * width + row % width];
}

}  // namespace

size_t lstm_workspace_f64(const LstmShape& shape) {
  return static_cast<size_t>(2 * shape.hidden) * sizeof(double);
}

void lstm_forward_f64(const LstmShape& shape, const LstmForward<double>& args, void* workspace) {
  const int64_t n = shape.hidden;
  auto* c = static_cast<double*>(workspace);
  for (int64_t s = 0; s < shape.sequences; ++s) {
    std::fill(c, c + n, 0.);
    for (int64_t t = shape.offsets[s]; t < shape.offsets[s + 1]; ++t) {
      const auto gate = [&](int64_t row) {
        double sum = args.x[t * 4 * n + row] + (args.bias ? args.bias[row] : 0);
        if (t == shape.offsets[s]) return sum;
        for (int64_t k = 0; k < n; ++k) {
          sum += weight_at(shape.weight, row, k) * args.h[(t - 1) * n + k];
        }
        return sum;
      };
      for (int64_t j = 0; j < n; ++j) {
        const double values[4] = {sigmoid(gate(j)), sigmoid(gate(n + j)),
                                  std::tanh(gate(2 * n + j)), sigmoid(gate(3 * n + j))};
        c[j] = values[1] * c[j] + values[0] * values[2];
        args.h[t * n + j] = values[3] * std::tanh(c[j]);
        if (!args.gates) continue;
        for (int64_t q = 0; q < 4; ++q) args.gates[t * 4 * n + q * n + j] = values[q];
        args.cells[t * n + j] = c[j];
      }
    }
  }
}

void lstm_backward_f64(const LstmShape& shape, const LstmBackward<double>& args, void* workspace) {
  const int64_t n = shape.hidden;
  auto* dh = static_cast<double*>(workspace);
  double* dc = dh + n;
  for (int64_t s = 0; s < shape.sequences; ++s) {
    std::fill(dh, dh + 2 * n, 0.);
    const int64_t first = shape.offsets[s];
    for (int64_t t = shape.offsets[s + 1]; t-- > first;) {
      double* dx = args.dx + t * 4 * n;
      for (int64_t j = 0; j < n; ++j) {
        const double* gates = args.gates + t * 4 * n + j;
        const double i = gates[0], f = gates[n], g = gates[2 * n], o = gates[3 * n];
        const double u = std::tanh(args.cells[t * n + j]);
        const double dh_all = args.dh[t * n + j] + dh[j];
        const double dc_all = dc[j] + dh_all * o * (1 - u * u);
        dx[j] = dc_all * g * i * (1 - i);
        dx[n + j] = t > first ? dc_all * args.cells[(t - 1) * n + j] * f * (1 - f) : 0;
        dx[2 * n + j] = dc_all * i * (1 - g * g);
        dx[3 * n + j] = dh_all * u * o * (1 - o);
        dc[j] = dc_all * f;
        args.before[t * n + j] = t > first ? args.h[(t - 1) * n + j] : 0;
      }
      for (int64_t k = 0; k < n; ++k) {
        dh[k] = 0;
        for (int64_t row = 0; row < 4 * n; ++row) {
          dh[k] += dx[row] * weight_at(shape.weight, row, k);
        }
      }
    }
  }
}

}  // namespace hone::kernels

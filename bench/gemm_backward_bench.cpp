// The gradients of matrix products against the forward product of the same FLOPs, hone's and
// oneDNN's, in turns; and the bf16 shadow of the weights. Results are checked before they are
// timed. Arguments: dtypes (fp32,bf16), threads and m, each a list, in this order; HONE_ISA chooses
// ours.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <sstream>

#include "base/clock.h"
#include "base/error.h"
#include "device/memory.h"
#include "gemm_cases.h"
#include "kernels/cpu/gemm_backward.h"
#include "kernels/cpu/peak.h"

namespace hone::bench {
namespace {

constexpr int64_t kColdBytes = 96 << 20;  // three times the last cache of the machines at hand
constexpr int kRounds = 9;

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

Buffer stored(const std::vector<float>& values, DType dtype) {
  Buffer buffer(values.size() * dtype_size(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::bf16) {
      buffer.as<bf16>()[i] = to_bf16(values[i]);
    } else {
      buffer.as<float>()[i] = values[i];
    }
  }
  return buffer;
}

/// Both gradients of y[m, n] = x[m, k] W[n, k]^T; weights and their gradients come from memory.
class Backward {
 public:
  Backward(const Case& c, const Inputs& in, ThreadPool& pool)
      : case_(c), in_(in), pool_(pool), x_(stored(in.a, c.dtype)), dx_(c.m * c.k * 4) {
    for (int64_t i = 0; i < c.m * c.n; ++i) {
      dy_values_.push_back(to_float(to_bf16(in.a[i * 7919 % (c.m * c.k)])));
    }
    dy_ = stored(dy_values_, c.dtype);
    weight_bytes_ = kernels::packed_bytes(c.isa, c.dtype, c.n, c.k);
    gradient_bytes_ = kernels::packed_bytes(c.isa, DType::f32, c.n, c.k);
    weights_ = Buffer(weight_bytes_ * static_cast<size_t>(c.copies));
    gradients_ = Buffer(gradient_bytes_ * static_cast<size_t>(c.copies));
    std::memset(gradients_.data(), 0, gradients_.size());
    kernels::pack_rows(c.isa, c.dtype, in.weight.data(), 0, c.n, c.n, c.k, weights_.data());
    for (int i = 1; i < c.copies; ++i) {
      std::memcpy(weights_.as<std::byte>() + weight_bytes_ * static_cast<size_t>(i),
                  weights_.data(), weight_bytes_);
    }
    matrix_ = {c.dtype, c.isa, c.n, c.k, weights_.data()};
    input_ = {.m = c.m, .dy = dy_.data(), .lddy = c.n, .w = &matrix_};
    input_.dx = dx_.data();
    input_.dx_dtype = c.dtype;
    input_.lddx = c.k;
    weight_ = {.isa = c.isa, .dtype = c.dtype, .m = c.m, .n = c.n, .k = c.k};
    weight_.dy = dy_.data();
    weight_.lddy = c.n;
    weight_.x = x_.data();
    weight_.ldx = c.k;
    bias_.resize(static_cast<size_t>(c.n));
    weight_.dw = gradients_.data();
    weight_.dbias = bias_.data();
    workspace_ = Buffer(std::max(kernels::gemm_input_gradient_workspace(input_, pool.size()),
                                 kernels::gemm_weight_gradient_workspace(weight_, pool.size())));
  }

  void run_input() {
    matrix_.data = weights_.as<std::byte>() + weight_bytes_ * next();
    kernels::gemm_input_gradient(input_, workspace_.data(), pool_);
  }
  void run_weight() {
    weight_.dw = gradients_.as<std::byte>() + gradient_bytes_ * next();
    kernels::gemm_weight_gradient(weight_, workspace_.data(), pool_);
  }

  /// One run of each against sums in double, on elements spread over the results.
  void verify() {
    run_input();
    next_ = 0;
    run_weight();
    const auto [m, n, k] = std::tuple(case_.m, case_.n, case_.k);
    for (int64_t t = 0; t < m; t += m / 7 + 1) {
      for (int64_t i = 0; i < k; i += 61) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j)
          sum += double{dy_values_[t * n + j]} * in_.weight[j * k + i];
        compare("dx", dx(t * k + i), sum, n, case_.dtype);
      }
    }
    const int64_t width = kernels::panel_rows(case_.isa);
    for (int64_t j = 0; j < n; j += n / 13 + 1) {
      for (int64_t i = 0; i < k; i += 61) {
        double sum = 0;
        for (int64_t t = 0; t < m; ++t) sum += double{dy_values_[t * n + j]} * in_.a[t * k + i];
        compare("dw", gradients_.as<float>()[(j / width * k + i) * width + j % width], sum, m,
                DType::f32);
      }
    }
  }

 private:
  size_t next() { return next_++ % static_cast<size_t>(case_.copies); }
  float dx(int64_t i) const {
    return case_.dtype == DType::bf16 ? to_float(dx_.as<bf16>()[i]) : dx_.as<float>()[i];
  }
  void compare(const char* what, double got, double expected, int64_t terms, DType dtype) const {
    const double rounding = dtype == DType::bf16 ? 0x1p-8 * std::abs(expected) : 0;
    if (std::abs(got - expected) <= 1e-6 * static_cast<double>(terms) + rounding) return;
    fail(ErrorKind::internal, "{}: m {} n {} k {}: {} should be {}", what, case_.m, case_.n,
         case_.k, got, expected);
  }

  Case case_;
  const Inputs& in_;
  ThreadPool& pool_;
  std::vector<float> dy_values_, bias_;
  Buffer x_, dx_, dy_, weights_, gradients_, workspace_;
  size_t weight_bytes_ = 0, gradient_bytes_ = 0, next_ = 0;
  kernels::PackedMatrix matrix_{};
  kernels::InputGradientArgs input_;
  kernels::WeightGradientArgs weight_;
};

/// The best of a few calls: other processes only ever add.
double time_batch(const std::function<void()>& call) {
  call();
  double best = 1e9;
  const Stopwatch total;
  for (int i = 0; i < 3 || (i < 20 && total.seconds() < 3e-3); ++i) {
    const Stopwatch watch;
    call();
    best = std::min(best, watch.seconds());
  }
  return best;
}

void measure(const Case& c, double peak, ThreadPool& pool) {
  const Inputs inputs(c);
  const auto forward = make_hone(c, inputs, pool);
  const auto rival = make_onednn(c, inputs);  // null where it has no such product
  Backward backward(c, inputs, pool);
  backward.verify();
  std::vector<std::function<void()>> calls = {
      [&] { forward->run(); }, [&] { backward.run_input(); }, [&] { backward.run_weight(); }};
  if (rival) calls.push_back([&] { rival->run(); });
  std::vector<std::vector<double>> seconds(4), ratios(4);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < calls.size(); ++i) {
      seconds[i].push_back(time_batch(calls[i]));
      ratios[i].push_back(seconds[0].back() / seconds[i].back());
    }
  }
  const double gflop = 2e-9 * static_cast<double>(c.m * c.n * c.k);
  fmt::print("| {} | {} | {} | {} | {} |", dtype_name(c.dtype), c.threads, c.n, c.k, c.m);
  for (size_t i = 0; i < calls.size(); ++i) {
    const double rate = gflop / quantile(seconds[i], 0.5);
    fmt::print(" {:.0f} ({:.0f}%)", rate, 100 * rate / peak);
    fmt::print(", {:.2f} |", quantile(ratios[i], 0.5));
  }
  fmt::print("{}\n", rival ? "" : " none |");
  std::fflush(stdout);
}

void measure_shadow(Isa isa, ThreadPool& pool) {
  constexpr int64_t n = 27648, k = 3072;  // BERT-base's layers have so many
  Buffer master(kernels::packed_bytes(isa, DType::f32, n, k));
  std::fill_n(master.as<float>(), n * k, 0.3f);
  Buffer shadow(kernels::packed_bytes(isa, DType::bf16, n, k));
  const double seconds = time_batch([&] {
    kernels::repack_bf16({DType::f32, isa, n, k, master.data()}, shadow.data(), pool);
  });
  fmt::print("bf16 shadow of {:.0f} M weights, {} threads: {:.1f} ms, {:.1f} GB/s\n", n * k * 1e-6,
             pool.size(), seconds * 1e3, n * k * 6e-9 / seconds);
}

std::vector<std::string> list(int argc, char** argv, int index, const char* otherwise) {
  std::istringstream stream(index < argc ? argv[index] : otherwise);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

void run(int argc, char** argv) {
  const Isa isa = chosen_isa();
  cap_onednn(isa);
  fmt::print("{}, {}: GFLOP/s (of the measured peak), and ratio to the forward product\n\n",
             cpu_info().name, isa_name(isa));
  fmt::print(
      "| dtype | threads | N | K | m | forward | input gradient | weight gradient | oneDNN "
      "forward |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& threads : list(argc, argv, 2, "1,2")) {
    ThreadPool pool(std::stoi(threads));
    for (const std::string& name : list(argc, argv, 1, "fp32,bf16")) {
      const DType dtype = name == "bf16" ? DType::bf16 : DType::f32;
      const double peak = kernels::measured_peak(isa, dtype, pool);
      for (const auto& [n, k] : std::vector<std::pair<int64_t, int64_t>>{
               {768, 768}, {1536, 768}, {3072, 768}, {768, 3072}}) {
        for (const std::string& m : list(argc, argv, 3, "256,1024,4096")) {
          const auto copies = static_cast<int>(kColdBytes / (n * k * 4) + 1);
          measure({isa, dtype, pool.size(), std::stoll(m), n, k, copies}, peak, pool);
        }
      }
    }
    measure_shadow(isa, pool);
  }
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  try {
    hone::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gemm_backward_bench: {}\n", error.what());
    return 1;
  }
}

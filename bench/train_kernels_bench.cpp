// The kernels of training beside the matrix products, at BERT-base's sizes: GB/s for those that
// pass over memory, GFLOP/s of the five products for attention's backward pass (softmax, dropout
// and packing are not counted as work). Last argument: threads. HONE_ISA chooses the instruction
// set.

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "device/memory.h"
#include "kernels/cpu/activation_backward.h"
#include "kernels/cpu/adamw.h"
#include "kernels/cpu/attention_backward.h"
#include "kernels/cpu/embedding_backward.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cpu/layer_norm_backward.h"
#include "kernels/cpu/layer_norm_train.h"

namespace hone::kernels {
namespace {

constexpr int64_t kWidth = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kDepth = 64;

float store(float value, float) { return value; }
bf16 store(float value, bf16) { return to_bf16(value); }

template <typename T>
std::vector<T> normals(int64_t count) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<T> values(count);
  for (T& value : values) value = store(normal(engine), T());
  return values;
}

void report_bytes(benchmark::State& state, int64_t bytes) {
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// p in percent.
struct Rows {
  Rows(int64_t rows, int64_t percent) : samples(rows), positions(rows) {
    for (int64_t i = 0; i < rows; ++i) {
      samples[i] = i / 128;
      positions[i] = static_cast<int32_t>(i % 128);
    }
    dropout = {float(percent) / 100.0f, dropout_key(1, 2, 3), samples.data(), positions.data()};
  }
  std::vector<int64_t> samples;
  std::vector<int32_t> positions;
  Dropout dropout;
};

template <typename T>
void norm_forward(benchmark::State& state) {
  const int64_t rows = state.range(0), count = rows * kWidth;
  ThreadPool pool(static_cast<int>(state.range(2)));
  const Rows with(rows, state.range(1));
  const std::vector<float> weight(kWidth, 1.0f), bias(kWidth, 0.5f);
  const auto x = normals<T>(count), residual = normals<T>(count);
  std::vector<T> xhat(count), y(count);
  std::vector<float> rstd(rows);
  Buffer workspace(layer_norm_train_workspace(kWidth, pool.size()));
  for (auto _ : state) {
    layer_norm_train(x.data(), residual.data(), with.dropout,
                     NormWeights{weight.data(), bias.data(), 1e-12f}, rows, kWidth,
                     Normalized<T>{xhat.data(), rstd.data()}, y.data(), workspace.data(), pool);
    benchmark::ClobberMemory();
  }
  report_bytes(state, 4 * count * int64_t(sizeof(T)));
}

template <typename T>
void norm_backward(benchmark::State& state) {
  const int64_t rows = state.range(0), count = rows * kWidth;
  ThreadPool pool(static_cast<int>(state.range(2)));
  const Rows with(rows, state.range(1));
  const std::vector<float> weight(kWidth, 1.0f), rstd(rows, 1.0f);
  const auto dy = normals<T>(count), xhat = normals<T>(count);
  std::vector<T> ds(count), dx(count);
  std::vector<float> dweight(kWidth), dbias(kWidth);
  Buffer workspace(layer_norm_backward_workspace(rows, kWidth));
  const bool drops = with.dropout.p > 0;
  for (auto _ : state) {
    layer_norm_backward(
        dy.data(), xhat.data(), rstd.data(), weight.data(), rows, kWidth, with.dropout,
        NormGradients<T>{ds.data(), drops ? dx.data() : nullptr, dweight.data(), dbias.data()},
        workspace.data(), pool);
    benchmark::ClobberMemory();
  }
  report_bytes(state, (drops ? 4 : 3) * count * int64_t(sizeof(T)));
}

template <typename T>
void gelu_backward(benchmark::State& state) {
  const int64_t count = state.range(0) * 4 * kWidth;
  const bool with_value = state.range(1) != 0;
  ThreadPool pool(static_cast<int>(state.range(2)));
  const auto dy = normals<T>(count), z = normals<T>(count);
  std::vector<T> dz(count), y(count);
  for (auto _ : state) {
    activation_backward(Activation::gelu, dy.data(), z.data(), count, dz.data(),
                        with_value ? y.data() : nullptr, pool);
    benchmark::ClobberMemory();
  }
  report_bytes(state, (with_value ? 4 : 3) * count * int64_t(sizeof(T)));
}

template <typename T>
void attention_both(benchmark::State& state, bool backward) {
  const int64_t length = state.range(0), sequences = state.range(1), rows = length * sequences;
  ThreadPool pool(static_cast<int>(state.range(3)));
  const Rows with(rows, state.range(2));
  const auto qkv = normals<T>(rows * 3 * kWidth), dout = normals<T>(rows * kWidth);
  std::vector<T> out(rows * kWidth), dqkv(rows * 3 * kWidth);
  std::vector<float> log_sums(rows * kHeads);
  std::vector<int32_t> offsets;
  for (int64_t s = 0; s <= sequences; ++s) offsets.push_back(static_cast<int32_t>(s * length));
  const AttentionShape shape{offsets.data(), offsets.data(), sequences,
                             kHeads,         kDepth,         1.0f / std::sqrt(float(kDepth))};
  Buffer workspace(attention_workspace(sequences, kDepth, pool.size()));
  Buffer scratch(attention_backward_workspace(rows, kDepth, pool.size()));
  const HeadRows<T> q{qkv.data(), 3 * kWidth}, k{qkv.data() + kWidth, 3 * kWidth},
      v{qkv.data() + 2 * kWidth, 3 * kWidth};
  const auto forward = [&] {
    attention(shape, q, k, v, {}, out.data(), log_sums.data(), workspace.data(), pool,
              with.dropout);
  };
  forward();
  const AttentionBackward<T> args{.q = q,
                                  .k = k,
                                  .v = v,
                                  .out = out.data(),
                                  .dout = dout.data(),
                                  .log_sums = log_sums.data(),
                                  .dropout = with.dropout,
                                  .dq = {dqkv.data(), 3 * kWidth},
                                  .dk = {dqkv.data() + kWidth, 3 * kWidth},
                                  .dv = {dqkv.data() + 2 * kWidth, 3 * kWidth}};
  for (auto _ : state) {
    if (backward) {
      attention_backward(shape, args, scratch.data(), pool);
    } else {
      forward();
    }
    benchmark::ClobberMemory();
  }
  const double flops = (backward ? 10.0 : 4.0) * double(length * rows * kWidth);
  state.counters["FLOP/s"] = benchmark::Counter(
      flops, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}
template <typename T>
void attention_forward(benchmark::State& state) {
  attention_both<T>(state, false);
}
template <typename T>
void attention_gradients(benchmark::State& state) {
  attention_both<T>(state, true);
}

void word_embedding(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  ThreadPool pool(static_cast<int>(state.range(1)));
  const auto dsum = normals<float>(tokens * kWidth);
  std::vector<float> table(30522 * kWidth);
  std::vector<int32_t> ids(tokens);
  for (int64_t i = 0; i < tokens; ++i) ids[i] = static_cast<int32_t>(i * i * 7919 % 30522);
  Buffer workspace(embedding_backward_workspace(tokens));
  for (auto _ : state) {
    embedding_backward(dsum.data(), ids.data(), tokens, kWidth, table.data(), workspace.data(),
                       pool);
    benchmark::ClobberMemory();
  }
  report_bytes(state, 3 * tokens * kWidth * int64_t(sizeof(float)));
}

void update(benchmark::State& state) {
  const int64_t count = 22'700'000;
  ThreadPool pool(static_cast<int>(state.range(0)));
  std::vector<float> p(count, 0.5f), g(count, 0.1f), m(count), v(count);
  const ParameterRange range{0, count, true};
  for (auto _ : state) {
    adamw({.lr = 1e-5}, {&range, 1}, {.zero = true}, {p.data(), g.data(), m.data(), v.data()},
          pool);
    benchmark::ClobberMemory();
  }
  report_bytes(state, count * 32);
}

void gradient_norm(benchmark::State& state) {
  const int64_t count = 22'700'000;
  ThreadPool pool(static_cast<int>(state.range(0)));
  const std::vector<float> g(count, 0.1f);
  Buffer workspace(sum_of_squares_workspace(count));
  for (auto _ : state) {
    benchmark::DoNotOptimize(sum_of_squares(g.data(), count, workspace.data(), pool));
  }
  report_bytes(state, count * 4);
}

void rows(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{1024}, {0, 10}, {1, 2}})->Unit(benchmark::kMicrosecond)->UseRealTime();
}
void lengths(benchmark::internal::Benchmark* b) {
  for (const int64_t threads : {1, 2}) {
    for (const int64_t percent : {0, 10}) b->Args({128, 8, percent, threads});
  }
  b->Args({12, 32, 10, 1})->Args({512, 1, 10, 1});
  b->Unit(benchmark::kMicrosecond)->UseRealTime();
}
BENCHMARK(norm_forward<float>)->Apply(rows);
BENCHMARK(norm_forward<bf16>)->Apply(rows);
BENCHMARK(norm_backward<float>)->Apply(rows);
BENCHMARK(norm_backward<bf16>)->Apply(rows);
BENCHMARK(gelu_backward<float>)->ArgsProduct({{1024}, {0, 1}, {1, 2}})->UseRealTime();
BENCHMARK(gelu_backward<bf16>)->ArgsProduct({{1024}, {0, 1}, {1, 2}})->UseRealTime();
BENCHMARK(attention_forward<float>)->Apply(lengths);
BENCHMARK(attention_forward<bf16>)->Apply(lengths);
BENCHMARK(attention_gradients<float>)->Apply(lengths);
BENCHMARK(attention_gradients<bf16>)->Apply(lengths);
BENCHMARK(word_embedding)->ArgsProduct({{1024}, {1, 2}})->UseRealTime();
BENCHMARK(update)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(gradient_norm)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hone::kernels

BENCHMARK_MAIN();

// LayerNorm with a residual, the embedding sum with LayerNorm, and the activations, by bytes moved.
// Arguments: rows, threads. HONE_ISA chooses the instruction set.

#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/layer_norm.h"

namespace hone::kernels {
namespace {

constexpr int64_t kWidth = 768;

void report(benchmark::State& state, int64_t bytes) {
  state.SetBytesProcessed(state.iterations() * bytes);
}

template <typename T>
void residual_layer_norm(benchmark::State& state) {
  const int64_t rows = state.range(0);
  ThreadPool pool(static_cast<int>(state.range(1)));
  const std::vector<float> weight(kWidth, 1.0f), bias(kWidth, 0.5f);
  std::vector<T> x(rows * kWidth), residual(rows * kWidth), y(rows * kWidth);
  for (auto _ : state) {
    layer_norm(x.data(), residual.data(), {weight.data(), bias.data(), 1e-12f}, rows, kWidth,
               y.data(), {}, pool);
    benchmark::ClobberMemory();
  }
  report(state, 3 * rows * kWidth * int64_t(sizeof(T)));
}

void embedding(benchmark::State& state) {
  const int64_t rows = state.range(0);
  ThreadPool pool(static_cast<int>(state.range(1)));
  const std::vector<float> weight(kWidth, 1.0f), bias(kWidth, 0.5f);
  const std::vector<float> table(30522 * kWidth, 1.0f);
  std::vector<int32_t> ids(rows), positions(rows);
  for (int64_t i = 0; i < rows; ++i) {
    ids[i] = static_cast<int32_t>(i * 7919 % 30522);
    positions[i] = static_cast<int32_t>(i % 128);
  }
  std::vector<float> y(rows * kWidth);
  for (auto _ : state) {
    embed_and_normalize<float>({table.data(), table.data(), table.data(), kWidth},
                               {ids.data(), nullptr, positions.data()}, rows,
                               {weight.data(), bias.data(), 1e-12f}, y.data(), {}, pool);
    benchmark::ClobberMemory();
  }
  report(state, 2 * rows * kWidth * int64_t(sizeof(float)));
}

template <Activation activation>
void elementwise(benchmark::State& state) {
  const int64_t count = state.range(0) * 4 * kWidth;
  ThreadPool pool(static_cast<int>(state.range(1)));
  std::vector<float> x(count, 0.5f), y(count);
  for (auto _ : state) {
    activate(activation, x.data(), count, y.data(), pool);
    benchmark::ClobberMemory();
  }
  report(state, 2 * count * int64_t(sizeof(float)));
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{1, 32, 128, 1024}, {1, 2}})->Unit(benchmark::kMicrosecond)->UseRealTime();
}
BENCHMARK(residual_layer_norm<float>)->Apply(sizes);
BENCHMARK(residual_layer_norm<bf16>)->Apply(sizes);
BENCHMARK(embedding)->Apply(sizes);
BENCHMARK(elementwise<Activation::gelu>)->Args({128, 1})->UseRealTime();
BENCHMARK(elementwise<Activation::gelu_tanh>)->Args({128, 1})->UseRealTime();
BENCHMARK(elementwise<Activation::tanh>)->Args({128, 1})->UseRealTime();

}  // namespace
}  // namespace hone::kernels

BENCHMARK_MAIN();

// Attention over packed sequences: time, GFLOP/s of its two products (softmax and packing are not
// counted as work), for BERT-base's 12 heads of 64. Arguments: length, sequences, threads.
// HONE_ISA chooses the instruction set.

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "device/memory.h"
#include "kernels/cpu/attention.h"

namespace hone::kernels {
namespace {

constexpr int64_t kHeads = 12;
constexpr int64_t kDepth = 64;
constexpr int64_t kWidth = kHeads * kDepth;

float store(float value, float) { return value; }
bf16 store(float value, bf16) { return to_bf16(value); }

template <typename T>
struct Layer {
  Layer(int64_t length, int64_t sequences, int64_t queries, int threads)
      : qkv(length * sequences * 3 * kWidth),
        out(queries * sequences * kWidth),
        workspace(attention_workspace(sequences, kDepth, threads)),
        pool(threads) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    for (T& value : qkv) value = store(normal(engine), T());
    for (int64_t s = 0; s <= sequences; ++s) {
      k_offsets.push_back(static_cast<int32_t>(s * length));
      q_offsets.push_back(static_cast<int32_t>(s * queries));
    }
  }

  void run() {
    const AttentionShape shape{q_offsets.data(), k_offsets.data(), int64_t(k_offsets.size()) - 1,
                               kHeads,           kDepth,           1.0f / std::sqrt(float(kDepth))};
    const T* data = qkv.data();
    attention(shape, HeadRows<T>{data, 3 * kWidth}, HeadRows<T>{data + kWidth, 3 * kWidth},
              HeadRows<T>{data + 2 * kWidth, 3 * kWidth}, {}, out.data(), nullptr, workspace.data(),
              pool);
  }

  std::vector<T> qkv, out;
  std::vector<int32_t> k_offsets, q_offsets;
  Buffer workspace;
  ThreadPool pool;
};

template <typename T>
void time_layer(benchmark::State& state, bool first_query_only) {
  const int64_t length = state.range(0), sequences = state.range(1);
  const int64_t queries = first_query_only ? 1 : length;
  Layer<T> layer(length, sequences, queries, static_cast<int>(state.range(2)));
  for (auto _ : state) {
    layer.run();
    benchmark::DoNotOptimize(layer.out.data());
    benchmark::ClobberMemory();
  }
  const double flops = 4.0 * double(queries * length * sequences * kWidth);
  state.counters["FLOP/s"] = benchmark::Counter(
      flops, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void fp32(benchmark::State& state) { time_layer<float>(state, false); }
void bf16_storage(benchmark::State& state) { time_layer<bf16>(state, false); }
void fp32_first_query(benchmark::State& state) { time_layer<float>(state, true); }

void lengths(benchmark::internal::Benchmark* b) {
  for (const int64_t threads : {1, 2}) {
    b->Args({7, 32, threads});
    for (const int64_t length : {16, 32, 64, 128, 512}) b->Args({length, 1, threads});
    b->Args({128, 8, threads});
  }
  b->Unit(benchmark::kMicrosecond)->UseRealTime();
}
BENCHMARK(fp32)->Apply(lengths);
BENCHMARK(bf16_storage)->Apply(lengths);
BENCHMARK(fp32_first_query)->Args({128, 1, 1})->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace hone::kernels

BENCHMARK_MAIN();

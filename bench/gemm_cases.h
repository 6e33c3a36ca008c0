#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/memory.h"
#include "kernels/cpu/gemm.h"

/// What gemm_bench.cpp times: one product with a bias, by hone and by oneDNN.
namespace hone::bench {

struct Case {
  Isa isa;
  DType dtype;  ///< A, the weight and C have it; bias and sums are fp32. i8: A is u8, C fp32
  int threads;
  int64_t m, n, k;
  /// The weight is held this many times and each call takes the next one: with more bytes than the
  /// caches hold, calls find their weight in memory, as the layers of a model do.
  int copies;
};

/// A weight several times over, in one block: a model's weights lie so, and on huge pages.
struct Copies {
  Buffer memory;
  size_t stride = 0;
  void* at(size_t i) { return memory.as<std::byte>() + i * stride; }
};
Copies copies_of(const void* weight, size_t bytes, int count);

/// A product that is ready to run.
class Product {
 public:
  virtual ~Product() = default;
  virtual void run() = 0;
  /// C of the last run, as fp32 [m, n].
  virtual std::vector<float> result() const = 0;
};

/// i8: A is a byte of this, the weight one of that.
constexpr float kByteOfA = 0x1p-8f;
constexpr float kByteOfWeight = 0x1p-7f;

/// Pseudo-random inputs, alike for every contender: a [m, k], weight [n, k], bias [n]. They are
/// exact in the case's dtype.
struct Inputs {
  std::vector<float> a, weight, bias;
  explicit Inputs(const Case& c);
};

std::unique_ptr<Product> make_hone(const Case& c, const Inputs& inputs, ThreadPool& pool);

/// oneDNN's own choice of weight layout (format any), packed before timing. Null where it has none
/// (bf16 under AVX2), or a wrong one (bytes without VNNI: its sums of 16 bits saturate).
std::unique_ptr<Product> make_onednn(const Case& c, const Inputs& inputs);
/// Before the first primitive: no AMX where its palettes cannot be asked for, and not above `isa`.
void cap_onednn(Isa isa);

}  // namespace hone::bench

#include "gemm_cases.h"

#include <cmath>
#include <cstring>
#include <random>

namespace hone::bench {
namespace {

std::vector<float> random_values(size_t count, uint32_t seed, DType dtype) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) {
    value = uniform(generator);
    if (dtype == DType::bf16) value = to_float(to_bf16(value));
    if (dtype == DType::u8) value = std::nearbyint((value + 1) * 127.5f) * kByteOfA;
    if (dtype == DType::i8) value = std::nearbyint(value * 127) * kByteOfWeight;
  }
  return values;
}

class Hone : public Product {
 public:
  Hone(const Case& c, const Inputs& inputs, ThreadPool& pool)
      : case_(c),
        bias_(inputs.bias),
        pool_(pool),
        a_(c.m * c.k * dtype_size(c.dtype)),
        c_(c.m * c.n * sizeof(float)) {
    for (int64_t i = 0; i < c.m * c.k; ++i) {
      if (c.dtype == DType::i8) {
        a_.as<uint8_t>()[i] = static_cast<uint8_t>(inputs.a[i] / kByteOfA);
      } else if (c.dtype == DType::bf16) {
        a_.as<bf16>()[i] = to_bf16(inputs.a[i]);
      } else {
        a_.as<float>()[i] = inputs.a[i];
      }
    }
    Buffer packed(kernels::packed_bytes(c.isa, c.dtype, c.n, c.k));
    if (c.dtype == DType::i8) {
      pack_bytes(inputs.weight, packed.data());
    } else {
      kernels::pack_rows(c.isa, c.dtype, inputs.weight.data(), 0, c.n, c.n, c.k, packed.data());
    }
    weights_ = copies_of(packed.data(), packed.size(), c.copies);
    matrix_ = {c.dtype, c.isa, c.n, c.k, nullptr};
    args_ = {.m = c.m, .a = a_.data(), .a_dtype = c.dtype, .lda = c.k};
    args_.b = &matrix_;
    if (c.dtype == DType::i8) {
      args_.a_dtype = DType::u8;
      scales_.assign(static_cast<size_t>(c.m), {kByteOfA, 0});
      args_.a_scales = scales_.data();
    }
    args_.bias = bias_.data();
    args_.c = c_.data();
    args_.c_dtype = c.dtype == DType::i8 ? DType::f32 : c.dtype;
    args_.ldc = c.n;
    workspace_ = Buffer(kernels::gemm_workspace(args_, pool.size()));
  }

  void run() override {
    matrix_.data = weights_.at(next_++ % static_cast<size_t>(case_.copies));
    kernels::gemm(args_, workspace_.data(), pool_);
  }

  std::vector<float> result() const override {
    std::vector<float> values(case_.m * case_.n);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = case_.dtype == DType::bf16 ? to_float(c_.as<bf16>()[i]) : c_.as<float>()[i];
    }
    return values;
  }

 private:
  void pack_bytes(const std::vector<float>& weight, void* packed) const {
    std::vector<int8_t> bytes(weight.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<int8_t>(weight[i] / kByteOfWeight);
    }
    const std::vector<float> scales(static_cast<size_t>(case_.n), kByteOfWeight);
    kernels::pack_quantized_rows(case_.isa, bytes.data(), scales.data(), 0, case_.n, case_.k,
                                 packed);
  }

  Case case_;
  std::vector<kernels::RowScale> scales_;
  std::vector<float> bias_;
  ThreadPool& pool_;
  Buffer a_;
  Buffer c_;
  Buffer workspace_;
  Copies weights_;
  kernels::PackedMatrix matrix_{};
  kernels::GemmArgs args_;
  size_t next_ = 0;
};

}  // namespace

Copies copies_of(const void* weight, size_t bytes, int count) {
  Copies copies;
  copies.stride = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  copies.memory = Buffer(copies.stride * static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) std::memcpy(copies.at(static_cast<size_t>(i)), weight, bytes);
  return copies;
}

Inputs::Inputs(const Case& c)
    : a(random_values(c.m * c.k, 1, c.dtype == DType::i8 ? DType::u8 : c.dtype)),
      weight(random_values(c.n * c.k, 2, c.dtype)),
      bias(random_values(c.n, 3, DType::f32)) {}

std::unique_ptr<Product> make_hone(const Case& c, const Inputs& inputs, ThreadPool& pool) {
  return std::make_unique<Hone>(c, inputs, pool);
}

}  // namespace hone::bench

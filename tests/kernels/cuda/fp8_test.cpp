#include "kernels/cuda/fp8.h"

#include "kernels/cpu/activation_f64.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

/// Rows of fp8 on the device.
struct Rows {
  Rows(CudaStream& stream, int64_t rows_, int64_t width_)
      : rows(rows_),
        width(width_),
        bytes(stream, std::vector<uint8_t>(size_t(rows * width), 0x7f)),
        scales(stream, std::vector<float>(size_t(rows), NAN)) {}

  /// What they stand for.
  std::vector<double> values() const {
    const std::vector<uint8_t> b = bytes.get();
    const std::vector<float> s = scales.get();
    std::vector<double> out(b.size());
    for (size_t i = 0; i < b.size(); ++i) {
      out[i] = double{fp8_to_float(b[i])} * s[i / size_t(width)];
    }
    return out;
  }
  /// Within half a step of `expected`: 1/16 of it, or of the smallest normal number; `error` of the
  /// row's largest was there before.
  void expect_rounded(const std::vector<double>& expected, double error) const {
    const std::vector<double> got = values();
    const std::vector<float> s = scales.get();
    ASSERT_EQ(got.size(), expected.size());
    for (int64_t r = 0; r < rows; ++r) {
      double largest = 0;
      for (int64_t i = r * width; i < (r + 1) * width; ++i) {
        largest = std::max(largest, std::abs(expected[size_t(i)]));
      }
      ASSERT_NEAR(s[size_t(r)] * 448.0, largest, (error + 1e-6) * largest) << "row " << r;
      for (int64_t i = r * width; i < (r + 1) * width; ++i) {
        const double wanted = expected[size_t(i)];
        const double step = std::max(std::abs(wanted) / 16, s[size_t(r)] * 0x1p-10);
        ASSERT_NEAR(got[size_t(i)], wanted, step * 1.001 + error * largest) << "at " << i;
      }
    }
  }

  int64_t rows, width;
  DeviceVector<uint8_t> bytes;
  DeviceVector<float> scales;
};

struct Sizes {
  int64_t rows, width;
};
const std::vector<Sizes> kSizes = {{1, 16},   {3, 256},  {5, 384},  {130, 768}, {7, 1024},
                                   {3, 1536}, {5, 2048}, {9, 3072}, {2, 4096},  {3, 8192}};

class CudaFp8 : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (const Status missing = api().fp8_products()) GTEST_SKIP() << "no fp8: " << missing;
  }
};

TEST_F(CudaFp8, RowsAreRoundedToTheNearest) {
  for (const DType dtype : kDTypes) {
    for (const Activation activation : {Activation::none, Activation::gelu, Activation::silu}) {
      for (const Sizes& s : kSizes) {
        SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(int(activation)) + " " +
                     std::to_string(s.rows) + " " + std::to_string(s.width));
        std::vector<float> x = random_floats(s.rows * s.width, 1, dtype, 3.0f);
        for (int64_t i = 0; i < s.width; ++i) x[size_t(i)] = 0.0f;  // the first row
        std::vector<double> expected = widened(x);
        for (double& value : expected) {
          value = activation_f64(static_cast<kernels::Activation>(activation), value).value;
        }
        const DeviceArray device_x(stream(), dtype, x);
        const Rows rows(stream(), s.rows, s.width);
        QuantizeFp8 args;
        args.dtype = dtype;
        args.activation = activation;
        args.rows = s.rows;
        args.width = s.width;
        args.x = device_x.data();
        args.bytes = rows.bytes.data();
        args.scales = rows.scales.data();
        check(api().quantize_fp8(args, handle()));
        rows.expect_rounded(expected, activation == Activation::none ? 0 : 1e-6);
      }
    }
  }
}

TEST_F(CudaFp8, WhatIsNotFiniteStaysSo) {
  for (const float bad : {NAN, INFINITY}) {
    std::vector<float> x = random_floats(2 * 64, 1, DType::bf16);
    x[5] = bad;
    const DeviceArray device_x(stream(), DType::bf16, x);
    const Rows rows(stream(), 2, 64);
    QuantizeFp8 args;
    args.dtype = DType::bf16;
    args.rows = 2;
    args.width = 64;
    args.x = device_x.data();
    args.bytes = rows.bytes.data();
    args.scales = rows.scales.data();
    check(api().quantize_fp8(args, handle()));
    const std::vector<double> got = rows.values();
    EXPECT_FALSE(std::isfinite(got[5]));
    for (size_t i = 64; i < 128; ++i) EXPECT_TRUE(std::isfinite(got[i]));
  }
}

TEST_F(CudaFp8, ANormGivesItsRowsAsBytesToo) {
  for (const DType dtype : kDTypes) {
    for (const Sizes& s : {Sizes{3, 64}, {130, 384}, {489, 768}, {7, 768}, {5, 1536}, {3, 4096}}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(s.width));
      const int64_t count = s.rows * s.width;
      const DeviceArray x(stream(), dtype, random_floats(count, 1, dtype));
      const DeviceArray residual(stream(), dtype, random_floats(count, 2, dtype));
      const DeviceArray weight(stream(), DType::f32, random_floats(s.width, 3, DType::f32));
      const DeviceArray affine(stream(), DType::f32, random_floats(s.width, 4, DType::f32));
      const DeviceArray y(stream(), dtype, count), alone(stream(), dtype, count);
      const Rows rows(stream(), s.rows, s.width);
      NormForward args;
      args.dtype = dtype;
      args.rows = s.rows;
      args.width = s.width;
      args.x = x.data();
      args.residual = residual.data();
      args.weight = weight.floats();
      args.affine_bias = affine.floats();
      args.y = alone.data();
      check(api().layer_norm(args, handle()));
      args.y = y.data();
      args.bytes = rows.bytes.data();
      args.scales = rows.scales.data();
      check(api().layer_norm(args, handle()));
      EXPECT_EQ(y.bytes(), alone.bytes());
      rows.expect_rounded(widened(y.get()), dtype == DType::f32 ? 1e-6 : 1.0 / 256);
    }
  }
}

TEST_F(CudaFp8, ProductsScaleRowsAndColumns) {
  struct Case {
    int64_t m, n, k;
    bool bias;
  };
  const std::vector<Case> cases = {{1, 16, 16, true},     {3, 768, 768, false},
                                   {17, 384, 1536, true}, {64, 768, 3072, false},
                                   {130, 96, 320, true},  {489, 768, 256, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::to_string(c.m) + " " + std::to_string(c.n) + " " + std::to_string(c.k));
    const auto quantized = [&](int64_t rows, uint32_t seed) {
      std::vector<float> x = random_floats(rows * c.k, seed, DType::f32);
      for (size_t i = 0; i < x.size(); ++i) x[i] *= float(1 + i / size_t(c.k) % 7);
      const DeviceArray device_x(stream(), DType::f32, x);
      Rows made(stream(), rows, c.k);
      QuantizeFp8 args;
      args.rows = rows;
      args.width = c.k;
      args.x = device_x.data();
      args.bytes = made.bytes.data();
      args.scales = made.scales.data();
      check(api().quantize_fp8(args, handle()));
      stream().synchronize();
      return made;
    };
    const Rows a = quantized(c.m, 1), b = quantized(c.n, 2);
    const std::vector<float> bias = random_floats(c.n, 3, DType::bf16);
    const DeviceArray device_bias(stream(), DType::bf16, bias),
        small(stream(), DType::bf16, c.m * c.n);
    const DeviceArray wide_bias(stream(), DType::f32, bias);
    const std::vector<double> av = a.values(), bv = b.values();
    std::vector<double> expected(size_t(c.m * c.n));
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = c.bias ? bias[size_t(j)] : 0.0;
        for (int64_t t = 0; t < c.k; ++t) sum += av[size_t(i * c.k + t)] * bv[size_t(j * c.k + t)];
        expected[size_t(i * c.n + j)] = sum;
      }
    }
    ProductShape s;
    s.dtype = DType::f8;
    s.out = DType::bf16;
    s.bias = c.bias;
    s.m = c.m;
    s.n = s.ldc = c.n;
    s.k = s.lda = s.ldb = c.k;
    const DeviceArray y(stream(), DType::bf16, c.m * c.n);
    const ProductArrays arrays{
        a.bytes.data(), b.bytes.data(),  c.bias ? device_bias.data() : nullptr,
        y.data(),       a.scales.data(), b.scales.data()};
    constexpr size_t kLimit = size_t{32} << 20;
    const CudaBuffer workspace(kLimit);
    size_t bytes = 0;
    check(api().product_prepare(s, kLimit, &bytes));
    check(api().product(s, arrays, workspace.data(), bytes, handle()));
    // The library's fast sums keep some 14 bits, and cut the rest off at every 32 products.
    const double error = 1e-3 + double(c.k) / 32 / (1 << 14);
    expect_near(y.get(), expected, DType::bf16, error);
    SmallLinear few;
    few.dtype = DType::f8;
    few.m = c.m;
    few.n = few.ldy = c.n;
    few.k = few.ldx = few.ldw = c.k;
    few.x = a.bytes.data();
    few.w = b.bytes.data();
    few.bias = c.bias ? wide_bias.floats() : nullptr;
    few.y = small.data();
    few.x_scales = a.scales.data();
    few.w_scales = b.scales.data();
    ASSERT_EQ(api().takes_linear_small(few), c.m <= kSmallLinearRows);
    if (c.m <= kSmallLinearRows) {
      check(api().linear_small(few, handle()));
      expect_near(small.get(), expected, DType::bf16, 1e-3);
    }
    check(api().product_tune(s, arrays, workspace.data(), kLimit, handle()));
    check(api().product_prepare(s, kLimit, &bytes));
    check(api().product(s, arrays, workspace.data(), bytes, handle()));
    expect_near(y.get(), expected, DType::bf16, error);
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

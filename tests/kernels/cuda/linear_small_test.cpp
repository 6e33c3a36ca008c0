#include "kernels/cuda/linear_small.h"

#include "kernels/cpu/activation_f64.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

constexpr int64_t kMostRows = 64;

struct Sizes {
  int64_t n, k;
  bool with_bias = true;
};
/// The layers of MiniLM and BERT, heads of few classes, and edges: of 8 columns, of 32 along k, of
/// the ranges that warps and blocks have.
const std::vector<Sizes> kSizes = {
    {384, 384},        {1152, 384},       {1536, 384}, {384, 1536},
    {768, 768, false}, {2304, 768},       {3072, 768}, {768, 3072, false},
    {2, 768},          {100, 768},        {1, 8},      {9, 24},
    {101, 1032},       {33, 2056, false}, {8, 8192},   {16, 4104}};

/// One layer over kMostRows rows: its arrays on the device, and the sums in double.
struct Layer {
  Layer(CudaStream& stream, DType dtype, const Sizes& s, int64_t ldx_)
      : sizes(s),
        ldx(ldx_),
        x(random_floats(kMostRows * ldx, 1, dtype)),
        w(random_floats(s.n * s.k, 2, dtype, 2.0f / std::sqrt(float(s.k)))),
        bias(random_floats(s.n, 3, DType::f32)),
        device_x(stream, dtype, x),
        device_w(stream, dtype, w),
        device_bias(stream, DType::f32, bias),
        sums(size_t(kMostRows * s.n)) {
    for (int64_t i = 0; i < kMostRows; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = s.with_bias ? bias[size_t(j)] : 0.0;
        for (int64_t l = 0; l < s.k; ++l) {
          sum += double{x[size_t(i * ldx + l)]} * w[size_t(j * s.k + l)];
        }
        sums[size_t(i * s.n + j)] = sum;
      }
    }
  }
  SmallLinear args(DType dtype, DType out, Activation activation, int64_t m, int64_t ldy) const {
    return {.dtype = dtype,
            .out = out,
            .activation = activation,
            .m = m,
            .n = sizes.n,
            .k = sizes.k,
            .ldx = ldx,
            .ldw = sizes.k,
            .ldy = ldy,
            .x = device_x.data(),
            .w = device_w.data(),
            .bias = sizes.with_bias ? device_bias.floats() : nullptr};
  }

  Sizes sizes;
  int64_t ldx;
  std::vector<float> x, w, bias;
  DeviceArray device_x, device_w, device_bias;
  std::vector<double> sums;
};

class CudaLinearSmall : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && cuda_info().devices.front().major < 9) GTEST_SKIP() << "before sm_90";
  }
};

TEST_F(CudaLinearSmall, Values) {
  int turn = 0;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const Sizes& s : kSizes) {
      const Layer layer(stream(), dtype, s, s.k);
      DeviceArray full(stream(), DType::f32, kMostRows * s.n);
      SmallLinear whole = layer.args(dtype, DType::f32, Activation::none, kMostRows, s.n);
      whole.y = full.data();
      check(api().linear_small(whole, handle()));
      const std::vector<float> all = full.get();
      for (const int64_t m : {1, 7, 16, 17, 31, 32, 33, 63, 64}) {
        const auto activation = static_cast<Activation>(turn++ % 6);
        SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(m) + " " +
                     std::to_string(s.n) + " " + std::to_string(s.k) + " activation " +
                     std::to_string(int(activation)));
        const auto count = size_t(m * s.n);
        DeviceArray wide(stream(), DType::f32, m * s.n);
        SmallLinear args = layer.args(dtype, DType::f32, Activation::none, m, s.n);
        args.y = wide.data();
        ASSERT_TRUE(api().takes_linear_small(args));
        check(api().linear_small(args, handle()));
        const std::vector<float> some = wide.get();
        expect_near(some, {layer.sums.begin(), layer.sums.begin() + int64_t(count)}, DType::f32,
                    2e-6);
        // A row has the same bits among any others.
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));

        std::vector<double> expected(layer.sums.begin(), layer.sums.begin() + int64_t(count));
        for (double& value : expected) {
          value = activation_f64(static_cast<kernels::Activation>(activation), value).value;
        }
        for (const DType out : {dtype, DType::f32}) {
          DeviceArray y(stream(), out, m * s.n);
          args = layer.args(dtype, out, activation, m, s.n);
          args.y = y.data();
          check(api().linear_small(args, handle()));
          expect_near(y.get(), expected, out, 3e-6);
        }
      }
    }
  }
}

TEST_F(CudaLinearSmall, RowsApart) {
  const Sizes sizes{50, 80};
  for (const int64_t ldy : {50, 51, 64}) {  // rows of pairs, and not
    const Layer layer(stream(), DType::bf16, sizes, 96);
    DeviceArray y(stream(), DType::bf16, kMostRows * ldy);
    SmallLinear args = layer.args(DType::bf16, DType::bf16, Activation::none, 33, ldy);
    args.y = y.data();
    check(api().linear_small(args, handle()));
    const std::vector<float> values = y.get();
    for (int64_t i = 0; i < kMostRows; ++i) {
      for (int64_t j = 0; j < ldy; ++j) {
        const float value = values[size_t(i * ldy + j)];
        if (i < 33 && j < sizes.n) {
          const double expected = layer.sums[size_t(i * sizes.n + j)];
          ASSERT_NEAR(value, expected, std::abs(expected) / 256 + 1e-4) << i << " " << j;
        } else {
          ASSERT_TRUE(std::isnan(value)) << i << " " << j;  // not written
        }
      }
    }
  }
}

/// Kernels that start early read nothing that is not there yet, also in a graph, and nothing is
/// overwritten that is still read.
TEST_F(CudaLinearSmall, ChainsInAGraph) {
  constexpr int64_t kRows = 32, kWidth = 768, kInner = 3072;
  const Layer up(stream(), DType::bf16, {kInner, kWidth}, kWidth);
  const Layer down(stream(), DType::bf16, {kWidth, kInner}, kInner);
  const auto start = random_floats(kRows * kWidth, 9, DType::bf16);
  DeviceArray x(stream(), DType::bf16, kRows * kWidth),
      inner(stream(), DType::bf16, kRows * kInner);
  DeviceArray y(stream(), DType::bf16, kRows * kWidth);
  const DeviceArray ones(stream(), DType::f32, std::vector<float>(size_t(kWidth), 1.0f));
  SmallLinear first = up.args(DType::bf16, DType::bf16, Activation::gelu, kRows, kInner);
  first.x = x.data();
  first.y = inner.data();
  SmallLinear second = down.args(DType::bf16, DType::bf16, Activation::none, kRows, kWidth);
  second.x = inner.data();
  second.y = y.data();
  NormForward norm;
  norm.dtype = DType::bf16;
  norm.rows = kRows;
  norm.width = kWidth;
  norm.x = y.data();
  norm.residual = x.data();
  norm.weight = norm.affine_bias = ones.floats();
  norm.y = x.data();
  const auto chain = [&](bool wait) {
    for (int i = 0; i < 20; ++i) {
      check(api().linear_small(first, handle()));
      if (wait) stream().synchronize();
      check(api().linear_small(second, handle()));
      if (wait) stream().synchronize();
      check(api().layer_norm(norm, handle()));
      if (wait) stream().synchronize();
    }
  };
  x.set(start);
  chain(true);
  const std::vector<char> expected = x.bytes();
  x.set(start);
  chain(false);
  EXPECT_EQ(x.bytes(), expected);
  CudaGraph graph = stream().capture([&] { chain(false); });
  for (int i = 0; i < 50; ++i) {
    x.set(start);
    graph.launch(stream());
    ASSERT_EQ(x.bytes(), expected) << i;
  }
}

TEST_F(CudaLinearSmall, Takes) {
  const Layer layer(stream(), DType::bf16, {16, 64}, 64);
  SmallLinear args = layer.args(DType::bf16, DType::bf16, Activation::none, 8, 16);
  EXPECT_TRUE(api().takes_linear_small(args));
  const auto with = [&](auto change) {
    SmallLinear other = args;
    change(other);
    return api().takes_linear_small(other);
  };
  EXPECT_FALSE(with([](SmallLinear& l) { l.dtype = l.out = DType::f32; }));
  EXPECT_FALSE(with([](SmallLinear& l) { l.out = DType::f16; }));
  EXPECT_FALSE(with([](SmallLinear& l) { l.m = 65; }));
  EXPECT_FALSE(with([](SmallLinear& l) { l.m = 0; }));
  EXPECT_FALSE(with([](SmallLinear& l) { l.k = 60; }));
  EXPECT_FALSE(with([](SmallLinear& l) { l.k = 16384; }));
  EXPECT_FALSE(with([](SmallLinear& l) { l.ldx = 68; }));
  EXPECT_FALSE(with([](SmallLinear& l) { l.w = static_cast<const char*>(l.w) + 2; }));
  args.m = 65;
  EXPECT_STREQ(api().linear_small(args, handle()), "a product that is not one of few rows");
}

}  // namespace
}  // namespace hone::kernels::cuda

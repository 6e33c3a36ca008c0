#include "kernels/cuda/linear_gelu.h"

#include "kernels/cpu/activation_f64.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

struct Sizes {
  int64_t rows, columns, depth;
};
/// Sizes near a tile's 128 rows, 128 or 192 columns and 64 of depth, and several tiles a block.
const std::vector<Sizes> kSizes = {{1, 3072, 768}, {127, 520, 200},  {128, 128, 64},
                                   {129, 8, 8},    {300, 3072, 768}, {4096, 520, 200},
                                   {257, 200, 72}, {9000, 384, 128}};
constexpr DType kNarrow[] = {DType::bf16, DType::f16};

std::string text(DType dtype, const Sizes& s) {
  return std::string(dtype_name(dtype)) + " " + std::to_string(s.rows) + " " +
         std::to_string(s.columns) + " " + std::to_string(s.depth);
}

ActivationF64 gelu(double z) { return activation_f64(kernels::Activation::gelu, z); }

class CudaLinearGelu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && cuda_info().devices.front().major != 9) {
      GTEST_SKIP() << "compute capability " << cuda_info().devices.front().major
                   << ": made for 9.0";
    }
  }
};

TEST_F(CudaLinearGelu, Values) {
  for (const DType dtype : kNarrow) {
    for (const Sizes& s : kSizes) {
      SCOPED_TRACE(text(dtype, s));
      const int64_t ldx = s.depth + 8, count = s.rows * s.columns;
      const auto x = random_floats(s.rows * ldx, 1, dtype);
      const auto w = random_floats(s.columns * s.depth, 2, dtype, 3.0f / std::sqrt(float(s.depth)));
      const auto bias = random_floats(s.columns, 3, DType::f32);
      std::vector<double> plain(static_cast<size_t>(count)), z(plain.size());
      for (int64_t i = 0; i < count; ++i) {
        const float* a = &x[size_t(i / s.columns * ldx)];
        const float* b = &w[size_t(i % s.columns * s.depth)];
        for (int64_t l = 0; l < s.depth; ++l) plain[i] += double{a[l]} * b[l];
        z[i] = plain[i] + bias[i % s.columns];
      }
      DeviceArray gx(stream(), dtype, x), gw(stream(), dtype, w), gb(stream(), DType::f32, bias);
      DeviceArray gz(stream(), dtype, count), gy(stream(), dtype, count);
      LinearGelu args{dtype,     s.rows,    s.columns,   s.depth,   ldx,
                      gx.data(), gw.data(), gb.floats(), gz.data(), gy.data()};
      ASSERT_TRUE(api().linear_gelu_fits(args));
      const auto run = [&](const std::vector<double>& expected) {
        check(api().linear_gelu(args, handle()));
        expect_near(gz.get(), expected, dtype, 2e-6);
        std::vector<double> y;
        for (const double value : expected) y.push_back(gelu(value).value);
        expect_near(gy.get(), y, dtype, 2e-6);
      };
      run(z);
      DeviceArray alone(stream(), dtype, count);
      args.z = nullptr;
      args.y = alone.data();
      check(api().linear_gelu(args, handle()));
      EXPECT_EQ(alone.bytes(), gy.bytes());
      args.z = gz.data();
      args.y = gy.data();
      args.bias = nullptr;
      run(plain);
    }
  }
}

TEST_F(CudaLinearGelu, Backward) {
  for (const DType dtype : kNarrow) {
    for (const Sizes& s : kSizes) {
      SCOPED_TRACE(text(dtype, s));
      const int64_t lddy = s.depth + 8, count = s.rows * s.columns;
      const auto dy = random_floats(s.rows * lddy, 1, dtype);
      const auto w = random_floats(s.depth * s.columns, 2, dtype, 1.0f / std::sqrt(float(s.depth)));
      const auto z = random_floats(count, 3, dtype, 2.0f);
      std::vector<double> dz(static_cast<size_t>(count)), dbias(size_t(s.columns), 0.5);
      for (int64_t row = 0; row < s.rows; ++row) {
        double* to = &dz[size_t(row * s.columns)];
        for (int64_t l = 0; l < s.depth; ++l) {
          const double g = dy[row * lddy + l];
          for (int64_t c = 0; c < s.columns; ++c) to[c] += g * w[l * s.columns + c];
        }
        for (int64_t c = 0; c < s.columns; ++c) {
          to[c] *= gelu(z[row * s.columns + c]).slope;
          dbias[c] += to[c];
        }
      }
      DeviceArray gdy(stream(), dtype, dy), gw(stream(), dtype, w), gz(stream(), dtype, z);
      DeviceArray gdz(stream(), dtype, count);
      DeviceArray gdbias(stream(), DType::f32, std::vector<float>(dbias.size(), 0.5f));
      LinearGeluBackward args{dtype,      s.rows,    s.depth,   s.columns,  lddy,
                              gdy.data(), gw.data(), gz.data(), gdz.data(), gdbias.floats()};
      ASSERT_TRUE(api().linear_gelu_backward_fits(args));
      const CudaBuffer workspace(api().one_row_sum_workspace(s.rows, s.columns));
      RowSums sums;
      check(api().linear_gelu_backward(args, workspace.data(), handle(), &sums));
      check(api().add_row_sums(&sums, 1, handle()));
      expect_near(gdz.get(), dz, dtype, 2e-6);
      expect_near(gdbias.get(), dbias, DType::f32, 1e-5);
      std::vector<double> y;
      for (const float value : z) y.push_back(gelu(value).value);
      DeviceArray gy(stream(), dtype, count), again(stream(), dtype, count);
      const auto dbias_alone = gdbias.bytes();
      args.dbias = nullptr;
      args.dz = again.data();
      args.y = gy.data();
      check(api().linear_gelu_backward(args, nullptr, handle(), nullptr));
      EXPECT_EQ(again.bytes(), gdz.bytes());
      expect_near(gy.get(), y, dtype, 2e-6);
      DeviceArray over(stream(), dtype, z), dz_again(stream(), dtype, count);
      args.z = args.y = over.data();  // in place
      args.dz = dz_again.data();
      check(api().linear_gelu_backward(args, nullptr, handle(), nullptr));
      EXPECT_EQ(over.bytes(), gy.bytes());
      EXPECT_EQ(dz_again.bytes(), gdz.bytes());
      EXPECT_EQ(gdbias.bytes(), dbias_alone);
      args.y = nullptr;
      args.z = args.dz = gz.data();  // the other in place
      check(api().linear_gelu_backward(args, nullptr, handle(), nullptr));
      EXPECT_EQ(gz.bytes(), gdz.bytes());
    }
  }
}

TEST_F(CudaLinearGelu, SaysWhatItTakes) {
  DeviceArray a(stream(), DType::bf16, 64 * 64);
  const LinearGelu good{DType::bf16, 64,       64,      64,      64,
                        a.data(),    a.data(), nullptr, nullptr, a.data()};
  EXPECT_TRUE(api().linear_gelu_fits(good));
  const auto refused = [&](auto&& change) {
    LinearGelu args = good;
    change(args);
    EXPECT_FALSE(api().linear_gelu_fits(args));
    EXPECT_NE(api().linear_gelu(args, handle()), nullptr);
  };
  refused([](LinearGelu& g) { g.dtype = DType::f32; });
  refused([](LinearGelu& g) { g.n = 60; });
  refused([](LinearGelu& g) { g.k = 60; });
  refused([](LinearGelu& g) { g.k = 0; });
  refused([](LinearGelu& g) { g.ldx = 65; });
  refused([&](LinearGelu& g) { g.x = a.at(1); });
  refused([&](LinearGelu& g) { g.z = a.at(1); });
  LinearGelu none = good;
  none.m = 0;
  check(api().linear_gelu(none, handle()));
}

}  // namespace
}  // namespace hone::kernels::cuda

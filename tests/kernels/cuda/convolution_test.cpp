#include "kernels/cuda/convolution.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

struct ConvolutionSizes {
  int64_t images;
  Window window;
  int64_t out;
};
/// Sizes near a tile's 128 rows and columns, tiles that begin in an image, several tiles a block.
const std::vector<ConvolutionSizes> kConvolutions = {
    {1, {1, 1, 64, 1, 2, 0}, 8},      {1, {5, 7, 64, 3, 1, 1}, 64},
    {3, {9, 8, 128, 3, 2, 1}, 72},    {2, {14, 15, 64, 1, 2, 0}, 256},
    {2, {12, 11, 64, 5, 1, 2}, 136},  {4, {7, 7, 192, 3, 1, 0}, 64},
    {30, {28, 28, 64, 3, 1, 1}, 128}, {2, {16, 9, 64, 7, 3, 3}, 16}};
constexpr DType kConvolutionDTypes[] = {DType::bf16, DType::f16};

/// Calls body(pixel of x, pixel of y, tap) for all that a convolution multiplies.
template <typename Body>
void for_taps(const ConvolutionSizes& s, const Body& body) {
  const Window& w = s.window;
  for (int64_t image = 0; image < s.images; ++image) {
    for (int64_t at = 0; at < w.out_pixels() * w.kernel * w.kernel; ++at) {
      const int64_t tap = at % (w.kernel * w.kernel), place = at / (w.kernel * w.kernel);
      const int64_t y = place / w.out_width() * w.stride - w.padding + tap / w.kernel;
      const int64_t x = place % w.out_width() * w.stride - w.padding + tap % w.kernel;
      if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
      body((image * w.height + y) * w.width + x, image * w.out_pixels() + place, tap);
    }
  }
}

class CudaConvolution : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && cuda_info().devices.front().major != 9) {
      GTEST_SKIP() << "compute capability " << cuda_info().devices.front().major
                   << ": made for 9.0";
    }
  }
};

TEST_F(CudaConvolution, ValuesAndGradientsAreThoseInDouble) {
  for (const DType dtype : kConvolutionDTypes) {
    for (const ConvolutionSizes& s : kConvolutions) {
      const Window& w = s.window;
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(w.height) + "x" +
                   std::to_string(w.channels) + " kernel " + std::to_string(w.kernel) + " to " +
                   std::to_string(s.out));
      const int64_t in = s.images * w.in_pixels(), out = s.images * w.out_pixels();
      const auto x = random_floats(in * w.channels, 1, dtype);
      const auto weight = random_floats(s.out * w.covered(), 2, dtype, 0.1f);
      const auto bias = random_floats(s.out, 3, DType::f32);
      const auto dy = random_floats(out * s.out, 4, dtype);
      std::vector<double> y(dy.size()), dx(x.size()), dw(weight.size(), 0.5);
      for (int64_t i = 0; i < out * s.out; ++i) y[size_t(i)] = bias[size_t(i % s.out)];
      for_taps(s, [&](int64_t from, int64_t to, int64_t tap) {
        for (int64_t o = 0; o < s.out; ++o) {
          const float* row = &weight[size_t(o * w.covered() + tap * w.channels)];
          const double g = dy[size_t(to * s.out + o)];
          double sum = 0;
          for (int64_t c = 0; c < w.channels; ++c) {
            sum += double{row[c]} * x[size_t(from * w.channels + c)];
            dx[size_t(from * w.channels + c)] += g * row[c];
            dw[size_t(o * w.covered() + tap * w.channels + c)] +=
                g * x[size_t(from * w.channels + c)];
          }
          y[size_t(to * s.out + o)] += sum;
        }
      });
      DeviceArray gx(stream(), dtype, x), gw(stream(), dtype, weight);
      DeviceArray gb(stream(), DType::f32, bias), gy(stream(), dtype, out * s.out);
      DeviceArray gdy(stream(), dtype, dy), gdx(stream(), dtype, in * w.channels);
      Convolution args{dtype,     w,           s.images, s.out,    gx.data(),
                       gw.data(), gb.floats(), false,    gy.data()};
      ASSERT_TRUE(api().convolution_fits(args));
      check(api().convolution(args, handle()));
      expect_near(gy.get(), y, dtype, 1e-5);
      args.relu = true;
      check(api().convolution(args, handle()));
      for (double& value : y) value = std::max(value, 0.0);
      expect_near(gy.get(), y, dtype, 1e-5);
      DeviceArray gdw(stream(), DType::f32, std::vector<float>(dw.size(), 0.5f));
      const CudaBuffer workspace(api().convolution_weight_gradient_workspace(args));
      ASSERT_TRUE(api().convolution_weight_gradient_fits(args));
      for (const bool add : {true, false}) {
        check(api().convolution_weight_gradient(args, gdy.data(), add, gdw.floats(),
                                                workspace.data(), handle()));
        expect_near(gdw.get(), dw, DType::f32, 5e-5);
        for (double& value : dw) value -= 0.5;
      }
      const bool leads_back = w.stride == 1 && s.out % 64 == 0;
      ASSERT_EQ(api().convolution_gradient_fits(args), leads_back);
      if (!leads_back) continue;
      check(api().convolution_gradient(args, gdy.data(), gdx.data(), handle()));
      expect_near(gdx.get(), dx, dtype, 1e-5);
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

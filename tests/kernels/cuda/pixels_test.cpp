#include "kernels/cuda/pixels.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaPixels : public GpuTest {};

TEST_F(CudaPixels, HaveTheFactorsAndTermsOfTheirImage) {
  for (const DType dtype : kDTypes) {
    for (const int64_t channels : {1, 3, 4}) {
      for (const int64_t image_pixels : {1, 2, 5, 64}) {
        SCOPED_TRACE(std::to_string(channels) + " x " + std::to_string(image_pixels));
        const int64_t images = 5, count = images * image_pixels * channels;
        std::vector<uint8_t> bytes(static_cast<size_t>(count));
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 % 256);
        const auto levels = random_floats(images * 2 * channels, 1, DType::f32);
        std::vector<double> expected;
        for (int64_t i = 0; i < count; ++i) {
          const float* own = &levels[size_t(i / (image_pixels * channels) * 2 * channels)];
          const int64_t c = i % channels;
          expected.push_back(double{own[c]} * bytes[size_t(i)] + own[channels + c]);
        }
        DeviceVector<uint8_t> from(stream(), bytes);
        DeviceArray factors(stream(), DType::f32, levels), y(stream(), dtype, count);
        check(api().pixels(dtype, from.data(), factors.floats(), images * image_pixels, channels,
                           image_pixels, y.data(), handle()));
        expect_near(y.get(), expected, dtype, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

#include "kernels/cuda/batch_norm.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaBatchNorm : public GpuTest {};

/// Far from 0, where squares of values would cost the variance its digits.
constexpr float kFar = 30.0f;

TEST_F(CudaBatchNorm, StatisticsAreThoseOfTheRows) {
  for (const DType dtype : kDTypes) {
    for (const int64_t rows : {1, 2, 31, 5000, 40000}) {
      for (const int64_t width : {1, 20, 64, 264}) {
        SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(rows) + " x " +
                     std::to_string(width));
        auto x = random_floats(rows * width, 1, dtype);
        for (float& value : x) value = rounded(value + kFar, dtype);
        std::vector<double> means(size_t(width), 0.0), variances(size_t(width), 0.0);
        for (size_t i = 0; i < x.size(); ++i) means[i % size_t(width)] += x[i] / double(rows);
        for (size_t i = 0; i < x.size(); ++i) {
          const double off = x[i] - means[i % size_t(width)];
          variances[i % size_t(width)] += off * off / double(std::max<int64_t>(rows - 1, 1));
        }
        const std::vector<float> ones(size_t(width), 1.0f), zeros(size_t(width), 0.0f);
        DeviceArray gx(stream(), dtype, x), y(stream(), dtype, rows * width);
        DeviceArray weight(stream(), DType::f32, ones), bias(stream(), DType::f32, zeros);
        DeviceArray mean(stream(), DType::f32, zeros), variance(stream(), DType::f32, ones);
        DeviceArray kept(stream(), DType::f32, width), rstd(stream(), DType::f32, width);
        BatchNorm args{dtype, NormStatistics::batch};
        args.rows = rows;
        args.width = width;
        args.x = gx.data();
        args.y = y.data();
        args.weight = weight.floats();
        args.bias = bias.floats();
        args.running_mean = mean.floats();
        args.running_variance = variance.floats();
        args.momentum = 0.25f;
        args.mean = kept.floats();
        args.rstd = rstd.floats();
        const CudaBuffer workspace(api().batch_norm_workspace(rows, width));
        check(api().batch_norm(args, workspace.data(), handle()));
        expect_near(kept.get(), means, DType::f32, 1e-6);
        for (double& value : means) value *= 0.25;
        for (double& value : variances) value = 0.75 + 0.25 * value;
        expect_near(mean.get(), means, DType::f32, 1e-6);
        expect_near(variance.get(), variances, DType::f32, 2e-5);
        const auto first = y.bytes();
        check(api().batch_norm(args, workspace.data(), handle()));
        EXPECT_EQ(y.bytes(), first);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

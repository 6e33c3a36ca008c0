#include "kernels/cuda/loss.h"

#include "kernels/cpu/loss.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaLoss : public GpuTest {};

TEST_F(CudaLoss, LossesOfTheCpu) {
  for (const int64_t rows : {1, 32, 700}) {
    for (const int64_t classes : {1, 2, 5, 31, 33, 1000}) {
      for (const bool weighted : {false, true}) {
        const auto logits = random_floats(rows * classes, 1, DType::f32, 3.0f);
        auto targets = random_floats(rows * classes, 2, DType::f32);
        for (float& t : targets) t = 1.0f / (1.0f + std::exp(-t));
        std::vector<int32_t> labels(static_cast<size_t>(rows));
        for (int64_t i = 0; i < rows; ++i) labels[i] = int32_t(i * 7 % classes);
        auto weights = random_floats(classes, 3, DType::f32);
        for (float& w : weights) w = std::abs(w) + 0.1f;
        const auto wide = widened(logits), wide_targets = widened(targets),
                   wide_weights = widened(weights);
        const kernels::LossScale scale{double(rows) + 3, 128.0};
        for (int kind = 0; kind < 4; ++kind) {
          SCOPED_TRACE(std::to_string(kind) + " " + std::to_string(rows));
          std::vector<double> losses(size_t(rows), 0.0), dlogits(wide.size());
          double loss = 0;
          const kernels::LossOutputs<double> out{losses.data(), &loss, dlogits.data()};
          const double* w = weighted ? wide_weights.data() : nullptr;
          if (kind == 0) {
            kernels::cross_entropy(wide.data(), labels.data(), rows, classes,
                                   {w, weighted ? double{0.1f} : 0.0}, scale, out);
          } else if (kind == 1) {
            kernels::squared_error(wide.data(), wide_targets.data(), rows, classes, scale, out);
          } else if (kind == 3) {
            kernels::soft_cross_entropy(wide.data(), wide_targets.data(), rows, classes,
                                        weighted ? double{0.1f} : 0.0, scale, out);
          } else {
            kernels::binary_cross_entropy(wide.data(), wide_targets.data(), rows, classes, w, scale,
                                          out);
          }
          DeviceArray glogits(stream(), DType::f32, logits),
              gtargets(stream(), DType::f32, targets);
          DeviceArray gweights(stream(), DType::f32, weights);
          DeviceArray glosses(stream(), DType::f32, rows), gd(stream(), DType::f32, rows * classes);
          DeviceVector<int32_t> glabels(stream(), labels);
          DeviceVector<LossScale> gscale(stream(), {{scale.count, scale.scale}});
          DeviceVector<double> gloss(stream(), {NAN});
          Loss args;
          args.kind = static_cast<LossKind>(kind);
          args.rows = rows;
          args.classes = classes;
          args.logits = glogits.floats();
          args.labels = glabels.data();
          args.targets = gtargets.floats();
          args.weights = weighted ? gweights.floats() : nullptr;
          args.label_smoothing = weighted ? 0.1f : 0.0f;
          args.scale = gscale.data();
          args.losses = glosses.floats();
          args.loss = gloss.data();
          args.dlogits = gd.floats();
          check(api().loss(args, handle()));
          expect_near(glosses.get(), losses, DType::f32, 1e-6);
          expect_near(gd.get(), dlogits, DType::f32, 1e-6);
          EXPECT_NEAR(gloss.get()[0], loss, 1e-12 * (1 + std::abs(loss)));
        }
      }
    }
  }
}

/// Rows of a bucket that hold no sample.
TEST_F(CudaLoss, RowsWithoutALabelDoNotCount) {
  DeviceArray logits(stream(), DType::f32, {1.0f, 2.0f, 5.0f, 9.0f});
  DeviceVector<int32_t> labels(stream(), {1, -1});
  DeviceVector<LossScale> scale(stream(), {{1.0, 1.0}});
  DeviceVector<double> total(stream(), {NAN});
  DeviceArray dlogits(stream(), DType::f32, 4);
  Loss args;
  args.rows = 2;
  args.classes = 2;
  args.logits = logits.floats();
  args.labels = labels.data();
  args.scale = scale.data();
  args.loss = total.data();
  args.dlogits = dlogits.floats();
  check(api().loss(args, handle()));
  EXPECT_NEAR(total.get()[0], std::log1p(std::exp(-1.0)), 1e-12);
  EXPECT_EQ(dlogits.get()[2], 0.0f);
  EXPECT_EQ(dlogits.get()[3], 0.0f);
}

}  // namespace
}  // namespace hone::kernels::cuda

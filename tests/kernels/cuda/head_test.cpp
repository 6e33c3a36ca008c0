#include "kernels/cuda/head.h"

#include "kernels/cpu/loss.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaHead : public GpuTest {};

TEST_F(CudaHead, ForwardAndBackward) {
  struct Case {
    int64_t rows, width, outputs;
    float p;
  };
  for (const DType dtype : kDTypes) {
    for (const Case& c : std::vector<Case>{
             {0, 8, 2, 0}, {1, 1, 1, 0}, {5, 7, 3, 0.3f}, {32, 768, 2, 0.1f}, {33, 96, 64, 0.1f}}) {
      SCOPED_TRACE(std::to_string(c.rows) + " " + std::string(dtype_name(dtype)));
      DropoutRows with(stream(), c.p, c.rows);
      const auto x = random_floats(c.rows * c.width, 1, dtype);
      const auto weight = random_floats(c.outputs * c.width, 2, DType::f32);
      const auto bias = random_floats(c.outputs, 3, DType::f32);
      const auto dlogits = random_floats(c.rows * c.outputs, 4, DType::f32);
      std::vector<double> logits(dlogits.size()), dx(x.size(), 0.0);
      std::vector<double> dweight(weight.size(), 0.5), dbias(bias.size(), 0.5);
      for (int64_t r = 0; r < c.rows; ++r) {
        for (int64_t o = 0; o < c.outputs; ++o) {
          const double g = dlogits[r * c.outputs + o];
          double sum = bias[o];
          dbias[o] += g;
          for (int64_t i = 0; i < c.width; ++i) {
            const double factor = dropout_factor(with.cpu, r, uint32_t(i));
            sum += factor * x[r * c.width + i] * weight[o * c.width + i];
            dx[r * c.width + i] += factor * g * weight[o * c.width + i];
            dweight[o * c.width + i] += factor * g * x[r * c.width + i];
          }
          logits[r * c.outputs + o] = sum;
        }
      }
      DeviceArray gx(stream(), dtype, x), gw(stream(), DType::f32, weight);
      DeviceArray gb(stream(), DType::f32, bias), gd(stream(), DType::f32, dlogits);
      DeviceArray glogits(stream(), DType::f32, c.rows * c.outputs);
      DeviceArray gdx(stream(), dtype, c.rows * c.width);
      DeviceArray gdw(stream(), DType::f32, std::vector<float>(weight.size(), 0.5f));
      DeviceArray gdb(stream(), DType::f32, std::vector<float>(bias.size(), 0.5f));
      const HeadForward f{dtype,    c.rows,      c.width,     c.outputs,       gx.data(),
                          with.gpu, gw.floats(), gb.floats(), glogits.floats()};
      check(api().head(f, handle()));
      check(
          api().head_backward(f, {gd.floats(), gdx.data(), gdw.floats(), gdb.floats()}, handle()));
      expect_near(glogits.get(), logits, DType::f32, 1e-6);
      expect_near(gdx.get(), dx, dtype, 1e-6);
      expect_near(gdw.get(), dweight, DType::f32, 2e-6);
      expect_near(gdb.get(), dbias, DType::f32, 2e-6);
    }
  }
}

TEST_F(CudaHead, LossesOfTheCpu) {
  for (const int64_t rows : {1, 32, 700}) {
    for (const int64_t classes : {1, 2, 5}) {
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
        for (int kind = 0; kind < 3; ++kind) {
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
TEST_F(CudaHead, RowsWithoutALabelDoNotCount) {
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

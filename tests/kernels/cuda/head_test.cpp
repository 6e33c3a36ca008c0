#include "kernels/cuda/head.h"

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
    for (const Case& c : std::vector<Case>{{0, 8, 2, 0},
                                           {1, 1, 1, 0},
                                           {5, 7, 3, 0.3f},
                                           {32, 768, 2, 0.1f},
                                           {33, 96, 64, 0.1f},
                                           {700, 270, 1, 0}}) {
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

}  // namespace
}  // namespace hone::kernels::cuda

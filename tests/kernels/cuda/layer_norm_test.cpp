#include "kernels/cuda/layer_norm.h"

#include "kernels/cpu/layer_norm_backward.h"
#include "kernels/cpu/layer_norm_train.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

struct Case {
  int64_t rows, width;
  float p = 0.0f;
  bool residual = true;
  bool bias = false;
};
const std::vector<Case> kCases = {{0, 8},
                                  {1, 1},
                                  {3, 7, 0.3f},
                                  {5, 64, 0.1f, true, true},
                                  {9, 100, 0.1f, false, true},
                                  {33, 384, 0.1f, true, true},
                                  {489, 768, 0.1f, true, true},
                                  {2200, 768, 0.1f},
                                  {17, 1024, 0.0f, true, true},
                                  {6, 1030, 0.2f},
                                  {10, 2048, 0.1f},
                                  {4, 4096, 0.1f, true, true},
                                  {3, 4001}};

double forward_error(DType dtype) { return dtype == DType::f32 ? 3e-6 : 1e-5; }

/// The layer in double: x (with the bias added), then the CPU's norm.
struct Reference {
  Reference(const Case& c, const std::vector<float>& x_, const std::vector<float>& bias,
            const std::vector<float>& residual_, const std::vector<float>& weight_,
            const std::vector<float>& affine_, const kernels::Dropout& dropout)
      : x(widened(x_)),
        residual(widened(residual_)),
        weight(widened(weight_)),
        affine(widened(affine_)),
        xhat(x.size()),
        y(x.size()),
        rstd(size_t(c.rows)) {
    for (int64_t i = 0; c.bias && i < c.rows * c.width; ++i) x[i] += bias[i % c.width];
    ThreadPool pool(1);
    std::vector<char> scratch(kernels::layer_norm_train_workspace(c.width, 1) + 64);
    kernels::layer_norm_train(x.data(), c.residual ? residual.data() : nullptr, dropout,
                              {weight.data(), affine.data(), 1e-5f}, c.rows, c.width,
                              kernels::Normalized<double>{xhat.data(), rstd.data()}, y.data(),
                              scratch.data(), pool);
  }
  std::vector<double> x, residual, weight, affine, xhat, y, rstd;
};

class CudaNorm : public GpuTest {
 protected:
  void forward_and_backward(const Case& c, DType dtype) {
    const int64_t count = c.rows * c.width;
    const auto x = random_floats(count, 1, dtype), residual = random_floats(count, 2, dtype);
    const auto bias = random_floats(c.width, 3, DType::f32);
    const auto weight = random_floats(c.width, 4, DType::f32);
    const auto affine = random_floats(c.width, 5, DType::f32);
    DropoutRows with(stream(), c.p, c.rows);
    const Reference ref(c, x, bias, residual, weight, affine, with.cpu);
    DeviceArray dx(stream(), dtype, x), dresidual(stream(), dtype, residual);
    DeviceArray dbias(stream(), DType::f32, bias), dweight(stream(), DType::f32, weight);
    DeviceArray daffine(stream(), DType::f32, affine);
    DeviceArray xhat(stream(), dtype, count), y(stream(), dtype, count);
    DeviceArray rstd(stream(), DType::f32, c.rows);
    NormForward f;
    f.dtype = dtype;
    f.rows = c.rows;
    f.width = c.width;
    f.x = dx.data();
    f.bias = c.bias ? dbias.floats() : nullptr;
    f.residual = c.residual ? dresidual.data() : nullptr;
    f.dropout = with.gpu;
    f.weight = dweight.floats();
    f.affine_bias = daffine.floats();
    f.xhat = xhat.data();
    f.rstd = rstd.floats();
    f.y = y.data();
    check(api().layer_norm(f, handle()));
    expect_near(xhat.get(), ref.xhat, dtype, forward_error(dtype));
    expect_near(y.get(), ref.y, dtype, forward_error(dtype));
    expect_near(rstd.get(), ref.rstd, DType::f32, 1e-5);
    backward(c, dtype, ref, xhat, rstd, dweight, daffine, with);
  }

  void backward(const Case& c, DType dtype, const Reference& ref, const DeviceArray& xhat,
                const DeviceArray& rstd, const DeviceArray& weight, const DeviceArray& affine,
                const DropoutRows& with) {
    const int64_t count = c.rows * c.width;
    const auto dy = random_floats(count, 6, dtype);
    // What the kernel reads was rounded; the reference reads the same.
    const std::vector<double> xhat_read = widened(xhat.get()), rstd_read = widened(rstd.get());
    const std::vector<double> dy_read = widened(dy);
    std::vector<double> dsum(dy.size()), dx(dy.size());
    std::vector<double> dweight(size_t(c.width), 0.25), daffine(dweight), dbias(dweight);
    ThreadPool pool(1);
    std::vector<char> scratch(kernels::layer_norm_backward_workspace(c.rows, c.width) + 64);
    void* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
    kernels::layer_norm_backward<double, double>(
        dy_read.data(), xhat_read.data(), rstd_read.data(), ref.weight.data(), c.rows, c.width,
        with.cpu, {dsum.data(), dx.data(), dweight.data(), daffine.data()}, aligned, pool);
    for (int64_t i = 0; i < count; ++i) dbias[i % c.width] += dx[i];

    const std::vector<float> quarter(size_t(c.width), 0.25f);
    DeviceArray gpu_dy(stream(), dtype, dy), gpu_dsum(stream(), dtype, count);
    DeviceArray gpu_dx(stream(), dtype, count), gpu_dweight(stream(), DType::f32, quarter);
    DeviceArray gpu_daffine(stream(), DType::f32, quarter),
        gpu_dbias(stream(), DType::f32, quarter);
    const CudaBuffer workspace(api().row_sums_workspace(c.rows, c.width));
    NormBackward b;
    b.dtype = dtype;
    b.rows = c.rows;
    b.width = c.width;
    b.dy = gpu_dy.data();
    b.xhat = xhat.data();
    b.rstd = rstd.floats();
    b.weight = weight.floats();
    b.dropout = with.gpu;
    b.dsum = gpu_dsum.data();
    b.dx = gpu_dx.data();
    b.dweight = gpu_dweight.floats();
    b.daffine_bias = gpu_daffine.floats();
    b.dbias = gpu_dbias.floats();
    RowSums norm_sums;
    check(api().layer_norm_backward(b, workspace.data(), handle(), &norm_sums));
    check(api().add_row_sums(&norm_sums, 1, handle()));
    expect_near(gpu_dsum.get(), dsum, dtype, 1e-5);
    expect_near(gpu_dx.get(), dx, dtype, 1e-5);
    expect_near(gpu_dweight.get(), dweight, DType::f32, 1e-5);
    expect_near(gpu_daffine.get(), daffine, DType::f32, 1e-5);
    expect_near(gpu_dbias.get(), dbias, DType::f32, 1e-5);
    makes_y_again(b, ref, xhat_read, xhat, affine);
  }

  /// On the way, apart and in place.
  void makes_y_again(NormBackward b, const Reference& ref, const std::vector<double>& xhat_read,
                     const DeviceArray& xhat, const DeviceArray& affine) {
    const int64_t count = b.rows * b.width;
    std::vector<double> y(xhat_read);
    for (int64_t i = 0; i < count; ++i) {
      y[i] = y[i] * ref.weight[i % b.width] + ref.affine[i % b.width];
    }
    DeviceArray apart(stream(), b.dtype, count), dsum(stream(), b.dtype, count);
    DeviceArray without(stream(), b.dtype, count);
    b.dweight = b.daffine_bias = b.dbias = nullptr;
    b.dsum = without.data();
    check(api().layer_norm_backward(b, nullptr, handle(), nullptr));
    b.affine_bias = affine.floats();
    b.dsum = dsum.data();
    b.y = apart.data();
    check(api().layer_norm_backward(b, nullptr, handle(), nullptr));
    expect_near(apart.get(), y, b.dtype, 1e-6);
    EXPECT_EQ(dsum.bytes(), without.bytes());
    b.y = xhat.data();
    check(api().layer_norm_backward(b, nullptr, handle(), nullptr));
    EXPECT_EQ(xhat.bytes(), apart.bytes());
    EXPECT_EQ(dsum.bytes(), without.bytes());
  }
};

TEST_F(CudaNorm, Values) {
  for (const DType dtype : kDTypes) {
    for (const Case& c : kCases) {
      SCOPED_TRACE(std::to_string(c.rows) + " x " + std::to_string(c.width) + " " +
                   std::string(dtype_name(dtype)));
      forward_and_backward(c, dtype);
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

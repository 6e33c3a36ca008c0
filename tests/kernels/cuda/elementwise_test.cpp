#include "kernels/cuda/elementwise.h"

#include "kernels/cpu/activation_f64.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaElementwise : public GpuTest {};

TEST_F(CudaElementwise, Activations) {
  struct Size {
    int64_t rows, width;
  };
  for (const DType dtype : kDTypes) {
    for (const Size& s :
         std::vector<Size>{{0, 8}, {1, 1}, {3, 7}, {65, 96}, {200, 3072}, {70, 33}}) {
      for (int kind = 0; kind <= 5; ++kind) {
        SCOPED_TRACE(std::to_string(kind) + " " + std::to_string(s.rows) + " x " +
                     std::to_string(s.width) + " " + std::string(dtype_name(dtype)));
        const int64_t count = s.rows * s.width;
        auto z = random_floats(count, 1, dtype, 3.0f);
        if (count > 2) z[1] = 0.0f;
        const auto dy = random_floats(count, 2, dtype);
        std::vector<double> y(z.size()), dz(z.size()), dbias(size_t(s.width), 0.5);
        for (size_t i = 0; i < z.size(); ++i) {
          const auto a = activation_f64(static_cast<kernels::Activation>(kind), double{z[i]});
          y[i] = a.value;
          dz[i] = dy[i] * a.slope;
          dbias[i % size_t(s.width)] += dz[i];
        }
        const auto activation = static_cast<Activation>(kind);
        DeviceArray gz(stream(), dtype, z), gdy(stream(), dtype, dy), gy(stream(), dtype, count);
        DeviceArray gdz(stream(), dtype, count), again(stream(), dtype, count);
        DeviceArray gdbias(stream(), DType::f32, std::vector<float>(size_t(s.width), 0.5f));
        check(api().activate(activation, dtype, gz.data(), count, gy.data(), handle()));
        expect_near(gy.get(), y, dtype, 1e-6);
        const CudaBuffer workspace(api().one_row_sum_workspace(s.rows, s.width));
        ActivationBackward args{activation, dtype,      s.rows,       s.width,        gdy.data(),
                                gz.data(),  gdz.data(), again.data(), gdbias.floats()};
        RowSums sums;
        check(api().activation_backward(args, workspace.data(), handle(), &sums));
        check(api().add_row_sums(&sums, 1, handle()));
        expect_near(gdz.get(), dz, dtype, 1e-6);
        expect_near(gdbias.get(), dbias, DType::f32, 1e-5);
        EXPECT_EQ(again.bytes(), gy.bytes());
        args.dbias = nullptr;
        args.y = nullptr;
        args.dz = gdy.data();  // in place
        check(api().activation_backward(args, nullptr, handle(), nullptr));
        EXPECT_EQ(gdy.bytes(), gdz.bytes());
      }
    }
  }
}

TEST_F(CudaElementwise, Converts) {
  for (const int64_t count : {0, 1, 7, 8, 9, 4099}) {
    auto x = random_floats(count, 1, DType::f32);
    if (count > 3) x[2] = 1e9f, x[3] = -1e-9f;
    for (const DType from : kDTypes) {
      for (const DType to : kDTypes) {
        DeviceArray gx(stream(), from, x), gy(stream(), to, count);
        check(api().convert(from, gx.data(), to, gy.data(), count, handle()));
        const auto y = gy.get();
        for (int64_t i = 0; i < count; ++i) ASSERT_EQ(y[i], rounded(rounded(x[i], from), to));
      }
    }
  }
}

TEST_F(CudaElementwise, DropsWhatTheCpuDrops) {
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {1, 33, 96}) {
      const int64_t rows = 77;
      DropoutRows with(stream(), 0.3f, rows);
      const auto x = random_floats(rows * width, 1, dtype);
      DeviceArray gx(stream(), dtype, x);
      check(api().apply_dropout(with.gpu, dtype, gx.data(), rows, width, gx.data(), handle()));
      const auto y = gx.get();
      for (int64_t i = 0; i < rows * width; ++i) {
        const float factor = dropout_factor(with.cpu, i / width, uint32_t(i % width));
        ASSERT_EQ(y[i], rounded(x[i] * factor, dtype)) << "at " << i;
      }
    }
  }
}

TEST_F(CudaElementwise, GathersAndScatters) {
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {1, 7, 64, 768}) {
      const int64_t rows = 40, stride = width + 8;
      const std::vector<int32_t> index = {3, 39, 0, -1, 17};
      const auto count = int64_t(index.size());
      const auto x = random_floats(rows * stride, 1, dtype);
      DeviceArray gx(stream(), dtype, x), out(stream(), dtype, count * width);
      DeviceVector<int32_t> gindex(stream(), index);
      check(api().gather_rows(dtype, gx.data(), stride, gindex.data(), count, width, out.data(),
                              handle()));
      const auto got = out.get();
      std::vector<float> scattered(size_t(rows * width), 0.0f);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < width; ++c) {
          const float expected = index[i] < 0 ? 0.0f : x[index[i] * stride + c];
          ASSERT_EQ(got[i * width + c], expected);
          if (index[i] >= 0) scattered[index[i] * width + c] = expected;
        }
      }
      DeviceArray dx(stream(), dtype, rows * width);
      for (const bool set : {true, false}) {
        check(api().scatter_rows(dtype, out.data(), gindex.data(), count, rows, width, set,
                                 dx.data(), handle()));
        const auto result = dx.get();
        for (size_t i = 0; i < result.size(); ++i) {
          ASSERT_EQ(result[i], rounded(scattered[i] * (set ? 1.0f : 2.0f), dtype));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

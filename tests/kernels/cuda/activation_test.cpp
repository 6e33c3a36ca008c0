#include "kernels/cuda/activation.h"

#include "kernels/cpu/activation_f64.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaActivation : public GpuTest {};

TEST_F(CudaActivation, Activations) {
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

}  // namespace
}  // namespace hone::kernels::cuda

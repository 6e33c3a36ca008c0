#include "kernels/cuda/embedding.h"

#include "kernels/cpu/layer_norm_backward.h"
#include "kernels/cpu/layer_norm_train.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaEmbedding : public GpuTest {};

/// The rows are summed and normalised with a dropout behind the norm, and come back to their sum.
TEST_F(CudaEmbedding, ForwardAndBackwardThroughTheNorm) {
  const int64_t tokens = 70, width = 96, words = 50, positions = 20;
  std::vector<int32_t> word_ids(tokens), position_ids(tokens), type_ids(tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    word_ids[t] = int32_t(t * 31 % words);
    position_ids[t] = int32_t(t % positions);
    type_ids[t] = int32_t(t / 7 % 2);
  }
  DeviceVector<int32_t> gpu_words(stream(), word_ids), gpu_types(stream(), type_ids);
  DeviceVector<int32_t> gpu_positions(stream(), position_ids);
  DropoutRows with(stream(), 0.2f, tokens);
  for (const DType dtype : kDTypes) {
    for (const DType table : {DType::f32, dtype}) {
      const auto word = random_floats(words * width, 1, table);
      const auto position = random_floats(positions * width, 2, table);
      const auto type = random_floats(2 * width, 3, table);
      const auto weight = random_floats(width, 4, DType::f32);
      const auto affine = random_floats(width, 5, DType::f32);
      const auto wide_weight = widened(weight), wide_affine = widened(affine);
      std::vector<double> expected_xhat(size_t(tokens * width)), expected_y(expected_xhat);
      std::vector<double> expected_rstd(static_cast<size_t>(tokens));
      const double error = dtype == DType::f32 ? 3e-6 : 1e-5;
      ThreadPool pool(1);
      const auto w = widened(word), p = widened(position), t = widened(type);
      kernels::embed_and_normalize_train<double, double>(
          {w.data(), t.data(), p.data(), width},
          {word_ids.data(), type_ids.data(), position_ids.data()}, tokens,
          {wide_weight.data(), wide_affine.data(), 1e-5f},
          {expected_xhat.data(), expected_rstd.data()}, expected_y.data(), pool);
      apply_dropout(with.cpu, expected_y.data(), tokens, width, expected_y.data(), pool);
      DeviceArray gw(stream(), table, word), gp(stream(), table, position),
          gt(stream(), table, type);
      DeviceArray gweight(stream(), DType::f32, weight), gaffine(stream(), DType::f32, affine);
      DeviceArray xhat(stream(), dtype, tokens * width), y(stream(), dtype, tokens * width);
      DeviceArray rstd(stream(), DType::f32, tokens);
      EmbeddingForward e{table,
                         gw.data(),
                         gt.data(),
                         gp.data(),
                         gpu_words.data(),
                         gpu_types.data(),
                         gpu_positions.data()};
      NormForward f;
      f.dtype = dtype;
      f.rows = tokens;
      f.width = width;
      f.weight = gweight.floats();
      f.affine_bias = gaffine.floats();
      f.output_dropout = with.gpu;
      f.xhat = xhat.data();
      f.rstd = rstd.floats();
      f.y = y.data();
      check(api().embed_and_normalize(e, f, handle()));
      expect_near(xhat.get(), expected_xhat, dtype, error);
      expect_near(y.get(), expected_y, dtype, error);

      const auto dy = random_floats(tokens * width, 6, dtype);
      std::vector<double> dropped = widened(dy), dsum(dropped.size());
      apply_dropout(with.cpu, dropped.data(), tokens, width, dropped.data(), pool);
      const auto xhat_read = widened(xhat.get()), rstd_read = widened(rstd.get());
      std::vector<char> scratch(kernels::layer_norm_backward_workspace(tokens, width) + 64);
      void* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
      kernels::layer_norm_backward<double, double>(dropped.data(), xhat_read.data(),
                                                   rstd_read.data(), wide_weight.data(), tokens,
                                                   width, {}, {dsum.data()}, aligned, pool);
      DeviceArray gpu_dy(stream(), dtype, dy);
      NormBackward b;
      b.dtype = dtype;
      b.rows = tokens;
      b.width = width;
      b.dy = gpu_dy.data();
      b.output_dropout = with.gpu;
      b.xhat = xhat.data();
      b.rstd = rstd.floats();
      b.weight = gweight.floats();
      b.dsum = gpu_dy.data();  // in place
      check(api().layer_norm_backward(b, nullptr, handle(), nullptr));
      expect_near(gpu_dy.get(), dsum, dtype, 1e-5);
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

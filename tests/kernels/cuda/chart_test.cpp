#include "kernels/cuda/chart.h"

#include "kernels/cpu/chart.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaChart : public GpuTest {};

/// Texts of all kinds of lengths, up to the longest; offsets have one text more, of no rows, as a
/// bucket has behind a batch.
TEST_F(CudaChart, LossesAndGradientsAreTheProcessors) {
  const std::vector<int32_t> words = {5, 0, 1, 128, 2, 3, 40, 33, 20};
  std::vector<int32_t> bounds = {0}, cells = {0}, given;
  for (const int32_t n : words) {
    bounds.push_back(bounds.back() + n + 1);
    cells.push_back(cells.back() + static_cast<int32_t>(chart_cells(n)));
    given.push_back(n != 3);
  }
  bounds.push_back(bounds.back());
  cells.push_back(cells.back());
  given.push_back(0);
  const int64_t texts = int64_t(given.size()), count = cells.back(), more = count + 5;
  const auto scores = random_floats(more, 1, DType::f32, 2.0f);
  std::vector<int32_t> gold(static_cast<size_t>(more));
  for (int64_t i = 0; i < more; ++i) gold[i] = i % 7 == 0;
  const LossScale scale{3, 16};
  DeviceArray gscores(stream(), DType::f32, scores), slopes(stream(), DType::f32, more);
  DeviceVector<int32_t> gbounds(stream(), bounds), gcells(stream(), cells);
  DeviceVector<int32_t> ggold(stream(), gold), ggiven(stream(), given);
  DeviceVector<LossScale> gscale(stream(), {scale});
  DeviceVector<double> losses(stream(), std::vector<double>(size_t(texts), -1.0));
  DeviceVector<double> total(stream(), {-1.0});
  TreeLoss args;
  args.spans.texts = texts;
  args.spans.cells = more;
  args.spans.bound_offsets = gbounds.data();
  args.spans.cell_offsets = gcells.data();
  args.scores = gscores.floats();
  args.gold = ggold.data();
  args.given = ggiven.data();
  args.scale = gscale.data();
  args.weight = 0.7;
  args.losses = losses.data();
  args.total = total.data();
  const CudaBuffer workspace(chart_workspace(bounds.back(), more));
  stream().fill(workspace.data(), 0xff, workspace.size());
  for (const bool trains : {false, true}) {
    args.dscores = trains ? slopes.floats() : nullptr;
    check(api().tree_loss(args, workspace.data(), handle()));
    std::vector<std::byte> memory(kernels::chart_workspace());
    std::vector<float> marginals(scores.size());
    std::vector<double> wanted(scores.size());
    double sum = 0;
    const auto got = losses.get();
    for (size_t t = 0; t < words.size(); ++t) {
      const int32_t first = cells[t], end = cells[t + 1], n = words[t];
      double loss = 0;
      if (given[t] != 0) {
        loss = tree_partition(scores.data() + first, n, marginals.data() + first, memory.data());
        for (int32_t i = first; i < end; ++i) {
          if (i == first + chart_cell(n, 0, n)) continue;
          loss -= gold[i] * double{scores[i]};
          wanted[i] = scale.scale * 0.7 / scale.count * (double{marginals[i]} - gold[i]);
        }
      }
      EXPECT_NEAR(got[t], loss, 1e-10 * std::max(1.0, std::abs(loss))) << words[t];
      sum += loss;
    }
    EXPECT_EQ(got.back(), 0.0);
    EXPECT_NEAR(total.get()[0], 0.7 * sum / 3, 1e-10 * std::abs(sum));
    if (trains) expect_near(slopes.get(), wanted, DType::f32, 1e-6);
  }
}

}  // namespace
}  // namespace hone::kernels::cuda

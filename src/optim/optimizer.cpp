#include "optim/optimizer.h"

#include <numeric>

#include "nn/packed_rows.h"
#include "optim/cpu_optimizer.h"
#include "optim/cuda_optimizer.h"

namespace hone::optim {

std::unique_ptr<Optimizer> Optimizer::make(nn::Parameters& parameters, std::vector<bool> trainable,
                                           const OptimizerOptions& options,
                                           const GradientMemory& memory) {
  if (parameters.on_gpu()) {
    return std::make_unique<CudaOptimizer>(parameters, std::move(trainable), options);
  }
  return std::make_unique<CpuOptimizer>(parameters, std::move(trainable), options, memory);
}

void Optimizer::read_gradient(const Weight& weight, float* out) const {
  const nn::Parameter& slot = parameter(weight);
  std::vector<float> packed(static_cast<size_t>(parameters_.elements(weight)));
  copy_gradient(weight, packed.data());
  const int64_t width = nn::row_width(slot);
  nn::read_rows(slot, {parameters_.isa(), DType::f32, packed.data()}, 0, nn::row_count(slot),
                [&](int64_t first, int64_t count, const float* rows) {
                  std::copy(rows, rows + count * width, out + first * width);
                });
  if (!marks_rows(weight)) return;
  std::vector<uint8_t> touched(static_cast<size_t>(weight.rows));
  copy_touched(weight, touched.data());
  for (int64_t row = 0; row < weight.rows; ++row) {
    if (!touched[static_cast<size_t>(row)]) std::fill_n(out + row * width, width, 0.f);
  }
}

void Optimizer::write_gradient(const Weight& weight, const float* rows) {
  const nn::Parameter& slot = parameter(weight);
  std::vector<float> packed(static_cast<size_t>(parameters_.elements(weight)));
  const int64_t width = nn::row_width(slot);
  nn::store_rows(slot, {parameters_.isa(), DType::f32, packed.data()},
                 [&](int64_t first, int64_t count, float* out) {
                   std::copy_n(rows + first * width, count * width, out);
                 });
  put_gradient(weight, packed.data());
  if (marks_rows(weight)) put_touched(weight, 1);
}

std::vector<int32_t> Optimizer::touched_rows(const Weight& weight) const {
  std::vector<int32_t> rows(static_cast<size_t>(weight.rows));
  std::iota(rows.begin(), rows.end(), 0);
  if (!marks_rows(weight)) return rows;
  std::vector<uint8_t> touched(rows.size());
  copy_touched(weight, touched.data());
  std::erase_if(rows, [&](int32_t row) { return !touched[static_cast<size_t>(row)]; });
  return rows;
}

}  // namespace hone::optim

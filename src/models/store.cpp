#include "models/store.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/gemm.h"

namespace hone::models {
namespace {

// Rows pass in pieces of about this size: small beside the weights, large beside a system call.
constexpr int64_t kPieceFloats = 1 << 18;

void store_piece(Isa isa, const nn::Parameter& parameter, const float* rows, int64_t first,
                 int64_t count, void* to) {
  const Weight& weight = parameter.weight;
  if (parameter.kind == nn::ParameterKind::matrix) {
    kernels::pack_rows(isa, weight.dtype, rows, first, count, weight.rows, weight.width, to);
    return;
  }
  const int64_t width = row_width(parameter);
  if (weight.dtype == DType::f32) {
    std::copy(rows, rows + count * width, static_cast<float*>(to) + first * width);
  } else {
    std::transform(rows, rows + count * width, static_cast<bf16*>(to) + first * width, to_bf16);
  }
}

}  // namespace

void store_rows(nn::Parameters& parameters, const nn::Parameter& parameter,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read) {
  const int64_t width = row_width(parameter);
  const int64_t rows = parameter.weight.rows * parameter.weight.width / width;
  const int64_t panel = kernels::panel_rows(parameters.isa());
  const int64_t panels = std::max<int64_t>(1, kPieceFloats / (width * panel));
  const int64_t piece = std::min(rows, panels * panel);
  std::vector<float> buffer(static_cast<size_t>(piece * width));
  for (int64_t first = 0; first < rows; first += piece) {
    const int64_t count = std::min(piece, rows - first);
    read(first, count, buffer.data());
    store_piece(parameters.isa(), parameter, buffer.data(), first, count,
                parameters.data(parameter.weight));
  }
}

}  // namespace hone::models

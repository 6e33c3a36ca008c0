#include "nn/parameters.h"

#include <utility>

#include "kernels/cpu/gemm.h"

namespace hone::nn {
namespace {

constexpr size_t kAlign = 64;

}  // namespace

Weight Parameters::add(ParameterKind kind, std::vector<std::string> tensors, int64_t rows,
                       int64_t width, DType dtype) {
  const Weight weight{static_cast<int32_t>(list_.size()), dtype, rows, width};
  list_.push_back({weight, kind, std::move(tensors)});
  return weight;
}

Weight Parameters::matrix(std::vector<std::string> tensors, int64_t rows, int64_t width,
                          DType dtype) {
  return add(ParameterKind::matrix, std::move(tensors), rows, width, dtype);
}

Weight Parameters::table(std::string tensor, int64_t rows, int64_t width, DType dtype) {
  return add(ParameterKind::table, {std::move(tensor)}, rows, width, dtype);
}

Weight Parameters::vector(std::vector<std::string> tensors, int64_t width) {
  return add(ParameterKind::vector, std::move(tensors), 1, width, DType::f32);
}

size_t Parameters::bytes_of(const Parameter& parameter) const {
  const Weight& w = parameter.weight;
  const size_t bytes = parameter.kind == ParameterKind::matrix
                           ? kernels::packed_bytes(isa_, w.dtype, w.rows, w.width)
                           : static_cast<size_t>(w.rows * w.width) * dtype_size(w.dtype);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

size_t Parameters::bytes() const {
  size_t total = 0;
  for (const Parameter& parameter : list_) total += bytes_of(parameter);
  return total;
}

void Parameters::allocate() {
  arena_ = Buffer(bytes());
  auto* at = static_cast<std::byte*>(arena_.data());
  pointers_.clear();
  for (const Parameter& parameter : list_) {
    pointers_.push_back(at);
    at += bytes_of(parameter);
  }
}

}  // namespace hone::nn

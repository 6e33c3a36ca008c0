#include "nn/parameters.h"

#include <utility>

#include "kernels/cpu/gemm.h"

namespace hone::nn {
namespace {

constexpr size_t kAlign = 64;

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

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
  if (parameter.kind == ParameterKind::matrix) {
    return kernels::packed_bytes(isa_, w.dtype, w.rows, w.width);
  }
  return static_cast<size_t>(w.rows * w.width) * dtype_size(w.dtype);
}

int64_t Parameters::offset(const Weight& weight) const {
  const auto* start = static_cast<const float*>(pointers_[static_cast<size_t>(weight.slot)]);
  return start - arena_.as<float>();
}

int64_t Parameters::elements(const Weight& weight) const {
  const Parameter& parameter = list_[static_cast<size_t>(weight.slot)];
  return static_cast<int64_t>(bytes_of(parameter) / sizeof(float));
}

size_t Parameters::bytes() const {
  size_t total = 0;
  for (const Parameter& parameter : list_) total += aligned(bytes_of(parameter));
  return total;
}

void Parameters::allocate() {
  arena_ = Buffer(bytes());
  auto* at = static_cast<std::byte*>(arena_.data());
  pointers_.clear();
  for (const Parameter& parameter : list_) {
    pointers_.push_back(at);
    at += aligned(bytes_of(parameter));
  }
}

}  // namespace hone::nn

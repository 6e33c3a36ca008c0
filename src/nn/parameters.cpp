#include "nn/parameters.h"

#include <utility>

#include "kernels/cpu/embedding.h"
#include "kernels/cpu/gemm.h"

namespace hone::nn {

Weight Parameters::add(ParameterKind kind, std::vector<std::string> tensors, int64_t rows,
                       int64_t width, DType dtype) {
  const Weight weight{static_cast<int32_t>(list_.size()), dtype, rows, width};
  list_.push_back({weight, kind, std::move(tensors)});
  return weight;
}

Weight Parameters::matrix(std::vector<std::string> tensors, int64_t rows, int64_t width,
                          DType dtype) {
  const bool fp8 = dtype == DType::f8;
  Weight weight =
      add(ParameterKind::matrix, std::move(tensors), rows, width, fp8 ? DType::f32 : dtype);
  list_.back().fp8 = fp8;
  weight.dtype = dtype;
  return weight;
}

Weight Parameters::convolution(std::string tensor, int64_t out, int64_t in, int64_t kernel,
                               DType dtype) {
  const Weight weight = matrix({std::move(tensor)}, out, kernel * kernel * in, dtype);
  list_.back().kernel = kernel;
  return weight;
}

Weight Parameters::table(std::string tensor, int64_t rows, int64_t width, DType dtype) {
  return add(ParameterKind::table, {std::move(tensor)}, rows, width, dtype);
}

Weight Parameters::vector(std::vector<std::string> tensors, int64_t width) {
  return add(ParameterKind::vector, std::move(tensors), 1, width, DType::f32);
}

Weight Parameters::state(std::string tensor, int64_t width, float initial) {
  const Weight weight = add(ParameterKind::state, {std::move(tensor)}, 1, width, DType::f32);
  list_.back().initial = initial;
  return weight;
}

size_t Parameters::bytes_of(const Parameter& parameter) const {
  const Weight& w = parameter.weight;
  if (parameter.kind == ParameterKind::matrix) {
    return kernels::packed_bytes(target_.isa, w.dtype, w.rows, w.width);
  }
  if (w.dtype == DType::i8) return kernels::int8_table_bytes(w.rows, w.width);
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

const void* Parameters::newest(const Weight& weight) const {
  const void* changed = device_ ? device_->changed(weight) : nullptr;
  return changed ? changed : pointers_[static_cast<size_t>(weight.slot)];
}

size_t Parameters::bytes() const {
  size_t total = 0;
  for (const Parameter& parameter : list_) total += aligned(bytes_of(parameter));
  return total;
}

std::vector<size_t> Parameters::layout() const {
  std::vector<size_t> offsets(list_.size());
  size_t at = 0;
  const auto place = [&](auto chosen) {
    for (size_t slot = 0; slot < list_.size(); ++slot) {
      if (!chosen(list_[slot])) continue;
      offsets[slot] = at;
      at += aligned(bytes_of(list_[slot]));
    }
  };
  const auto last = [&](const Parameter& p) {
    return on_gpu() && (p.kind == ParameterKind::vector || p.kind == ParameterKind::state);
  };
  place([&](const Parameter& parameter) { return !last(parameter); });
  place(last);
  return offsets;
}

void Parameters::allocate() {
  if (!pointers_.empty()) return;
  arena_ = Buffer(bytes());
  for (const size_t at : layout()) pointers_.push_back(arena_.as<std::byte>() + at);
}

size_t Parameters::shadow_bytes_of(const Parameter& parameter, DType dtype) const {
  const Weight& w = parameter.weight;
  return aligned(kernels::packed_bytes(target_.isa, held_in(dtype), w.rows, w.width));
}

size_t Parameters::shadow_bytes(DType dtype, const std::vector<bool>& slots) const {
  size_t total = 0;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot]) total += shadow_bytes_of(list_[slot], dtype);
  }
  return total;
}

}  // namespace hone::nn

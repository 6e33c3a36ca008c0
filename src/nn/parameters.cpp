#include "nn/parameters.h"

#include <utility>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_backward.h"

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
  const auto last = [&](const Parameter& p) { return on_gpu() && p.kind == ParameterKind::vector; };
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
  return aligned(kernels::packed_bytes(isa_, held_in(dtype), w.rows, w.width));
}

size_t Parameters::shadow_bytes(DType dtype, const std::vector<bool>& slots) const {
  size_t total = 0;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot]) total += shadow_bytes_of(list_[slot], dtype);
  }
  return total;
}

void Parameters::add_shadows(DType dtype, const std::vector<bool>& slots) {
  if (dtype == shadow_dtype_ && slots == shadowed_) return;
  shadow_dtype_ = dtype;
  shadowed_ = slots;
  shadows_ = Buffer();  // the old ones go before the new ones come
  shadows_ = Buffer(shadow_bytes(dtype, slots));
  shadow_pointers_ = pointers_;
  auto* at = static_cast<std::byte*>(shadows_.data());
  for (const Parameter& parameter : list_) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    if (!shadowed_[slot]) continue;
    shadow_pointers_[slot] = at;
    at += shadow_bytes_of(parameter, dtype);
  }
  stale_ = true;
}

WeightArrays Parameters::arrays_for(DType dtype, const std::vector<bool>& slots, bool training) {
  if (!on_gpu()) {
    if (dtype == DType::f32) return WeightArrays(pointers_);
    add_shadows(dtype, slots);
    return {pointers_, shadow_pointers_};
  }
  if (!gpu_ || !gpu_->covers(dtype, slots, training)) {
    refresh_host();
    gpu_.reset();  // the old ones go before the new ones come
    gpu_ = std::make_unique<GpuWeights>(*this, dtype, slots, training);
    stale_ = true;
  }
  return gpu_->arrays();
}

void Parameters::refresh(ThreadPool& pool) {
  if (!on_gpu()) return refresh_shadows(pool);
  if (!stale_ || !gpu_) return;
  gpu_->upload(*this);
  stale_ = host_is_old_ = false;
}

void Parameters::refresh_host() {
  if (host_is_old_) gpu_->download(arena_.data());
  host_is_old_ = false;
}

void Parameters::refresh_shadows(ThreadPool& pool, const std::vector<bool>* changed) {
  if (!stale_ || shadows_.size() == 0) return;
  for (const Parameter& parameter : list_) {
    const Weight& w = parameter.weight;
    const auto slot = static_cast<size_t>(w.slot);
    if (!shadowed_[slot] || (changed && !(*changed)[slot])) continue;
    auto* shadow = const_cast<void*>(shadow_pointers_[slot]);
    if (shadow_dtype_ == DType::bf16) {
      kernels::repack_bf16({DType::f32, isa_, w.rows, w.width, pointers_[slot]}, shadow, pool);
    } else {
      kernels::round_to_f16(static_cast<const float*>(pointers_[slot]), elements(w),
                            static_cast<float*>(shadow), pool);
    }
  }
  stale_ = false;
}

}  // namespace hone::nn

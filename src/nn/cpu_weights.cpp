#include "nn/cpu_weights.h"

#include "kernels/cpu/convert.h"
#include "kernels/cpu/gemm_backward.h"
#include "nn/parameters.h"

namespace hone::nn {

WeightArrays CpuWeights::arrays_for(DType dtype, const std::vector<bool>& slots, bool) {
  if (dtype == DType::f32) return WeightArrays(parameters_.pointers());
  add_shadows(dtype, slots);
  return {parameters_.pointers(), pointers_};
}

void CpuWeights::add_shadows(DType dtype, const std::vector<bool>& slots) {
  if (dtype == dtype_ && slots == shadowed_) return;
  dtype_ = dtype;
  shadowed_ = slots;
  shadows_ = Buffer();  // the old ones go before the new ones come
  shadows_ = Buffer(parameters_.shadow_bytes(dtype, slots));
  pointers_.assign(parameters_.pointers().begin(), parameters_.pointers().end());
  auto* at = static_cast<std::byte*>(shadows_.data());
  for (const Parameter& parameter : parameters_.list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    if (!shadowed_[slot]) continue;
    pointers_[slot] = at;
    at += parameters_.shadow_bytes_of(parameter, dtype);
  }
  parameters_.set_stale(true);
}

void CpuWeights::refresh(ThreadPool& pool, const std::vector<bool>* changed) {
  if (!parameters_.stale() || shadows_.size() == 0) return;
  for (const Parameter& parameter : parameters_.list()) {
    const Weight& w = parameter.weight;
    const auto slot = static_cast<size_t>(w.slot);
    if (!shadowed_[slot] || (changed && !(*changed)[slot])) continue;
    const void* own = parameters_.pointers()[slot];
    auto* shadow = const_cast<void*>(pointers_[slot]);
    if (dtype_ == DType::bf16) {
      kernels::repack_bf16({DType::f32, parameters_.isa(), w.rows, w.width, own}, shadow, pool);
    } else {
      kernels::round_to_f16(static_cast<const float*>(own), parameters_.elements(w),
                            static_cast<float*>(shadow), pool);
    }
  }
  parameters_.set_stale(false);
}

}  // namespace hone::nn

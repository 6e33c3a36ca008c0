#include "nn/gpu_weights.h"

#include <algorithm>

#include "kernels/cuda/api.h"
#include "nn/parameters.h"

namespace hone::nn {
namespace {

constexpr size_t kAlign = 256;

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

GpuWeights::GpuWeights(const Parameters& parameters, DType dtype, const std::vector<bool>& shadows,
                       bool training)
    : dtype_(dtype), shadowed_(shadows), training_(training) {
  shadowed_.resize(parameters.list().size());
  const bool any = std::find(shadowed_.begin(), shadowed_.end(), true) != shadowed_.end();
  size_t kept = 0, copied = 0;
  std::vector<size_t> kept_at, copied_at;
  for (const Parameter& parameter : parameters.list()) {
    const auto elements = static_cast<size_t>(parameters.elements(parameter.weight));
    if (training) kept = copied = static_cast<size_t>(parameters.offset(parameter.weight));
    kept_at.push_back(kept);
    copied_at.push_back(copied);
    // In elements, so that both are aligned.
    if (training || !shadowed(parameter) || parameter.kind == ParameterKind::vector) {
      kept += aligned(elements);
    }
    if (training || shadowed(parameter)) copied += aligned(elements);
  }
  if (training) kept = copied = parameters.bytes() / sizeof(float);
  master_ = CudaBuffer(kept * sizeof(float));
  if (any) copies_ = CudaBuffer(copied * dtype_size(dtype));
  for (const Parameter& parameter : parameters.list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    const bool shadow = shadowed(parameter);
    const bool keeps = training || !shadow || parameter.kind == ParameterKind::vector;
    stored_.push_back(keeps ? master_.as<float>() + kept_at[slot] : nullptr);
    shadows_.push_back(shadow ? copies_.as<std::byte>() + copied_at[slot] * dtype_size(dtype)
                              : nullptr);
  }
}

bool GpuWeights::shadowed(const Parameter& parameter) const {
  return shadowed_[static_cast<size_t>(parameter.weight.slot)];
}

bool GpuWeights::covers(DType dtype, const std::vector<bool>& shadows, bool training) const {
  if (training_ != training) return false;
  const bool none = std::find(shadows.begin(), shadows.end(), true) == shadows.end();
  if (none) return training_ || copies_.size() == 0;
  for (size_t slot = 0; slot < shadows.size(); ++slot) {
    if (shadows[slot] && !shadowed_[slot]) return false;
  }
  return dtype == dtype_;
}

void GpuWeights::upload(const Parameters& parameters) {
  CudaStream& stream = cuda_stream();
  const auto& api = kernels::cuda::kernel_api();
  const auto convert = [&](const void* from, void* to, int64_t count) {
    cuda_check(api.convert(DType::f32, from, dtype_, to, count, stream.handle()), "convert");
  };
  if (training_) {
    stream.copy(master_.data(), parameters.arena_data(), parameters.bytes());
    if (copies_.size() > 0) {
      convert(master_.data(), copies_.data(),
              static_cast<int64_t>(parameters.bytes() / sizeof(float)));
    }
    return stream.synchronize();
  }
  size_t largest = 0;
  for (const Parameter& parameter : parameters.list()) {
    largest = std::max(largest, parameters.bytes_of(parameter));
  }
  const CudaBuffer staging(largest);
  for (const Parameter& parameter : parameters.list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    void* to = const_cast<void*>(stored_[slot]);
    void* landing = to ? to : staging.data();
    stream.copy(landing, parameters.pointers()[slot], parameters.bytes_of(parameter));
    if (shadowed(parameter)) {
      convert(landing, const_cast<void*>(shadows_[slot]), parameters.elements(parameter.weight));
    }
  }
  stream.synchronize();
}

void GpuWeights::download(void* arena) {
  cuda_stream().copy(arena, master_.data(), master_.size());
  cuda_stream().synchronize();
}

}  // namespace hone::nn

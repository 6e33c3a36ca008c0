#include "nn/cuda_arrays.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cuda/api.h"
#include "nn/parameters.h"

namespace hone::nn {

CudaArrays::CudaArrays(const Parameters& parameters, DType dtype, const std::vector<bool>& shadows,
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
    // Sizes are aligned in elements, so that both arrays are aligned.
    if (keeps(parameter)) kept += cuda_aligned(elements);
    if (training || shadowed(parameter)) copied += cuda_aligned(elements);
  }
  if (training) kept = copied = parameters.bytes() / sizeof(float);
  master_ = CudaBuffer(kept * sizeof(float));
  if (any) copies_ = CudaBuffer(copied * dtype_size(dtype));
  for (const Parameter& parameter : parameters.list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    const bool shadow = shadowed(parameter);
    stored_.push_back(keeps(parameter) ? master_.as<float>() + kept_at[slot] : nullptr);
    shadows_.push_back(shadow ? copies_.as<std::byte>() + copied_at[slot] * dtype_size(dtype)
                              : nullptr);
  }
  place_fp8(parameters);
}

void CudaArrays::place_fp8(const Parameters& parameters) {
  size_t bytes = 0;
  std::vector<size_t> starts;
  for (const Parameter& parameter : parameters.list()) {
    starts.push_back(bytes);
    if (!parameter.fp8) continue;
    const Weight& w = parameter.weight;
    bytes += cuda_aligned(static_cast<size_t>(w.rows * w.width)) +
             cuda_aligned(static_cast<size_t>(w.rows) * sizeof(float));
  }
  if (bytes == 0) return;
  if (const char* missing = kernels::cuda::kernel_api().fp8_products()) {
    fail(ErrorKind::unsupported, "dtype: 'fp8' has no products here: {}; use bf16", missing);
  }
  fp8_ = CudaBuffer(bytes);
  scales_.resize(starts.size());
  for (const Parameter& parameter : parameters.list()) {
    if (!parameter.fp8) continue;
    const Weight& w = parameter.weight;
    const auto slot = static_cast<size_t>(w.slot);
    std::byte* start = fp8_.as<std::byte>() + starts[slot];
    shadows_[slot] = start;
    scales_[slot] =
        reinterpret_cast<const float*>(start + cuda_aligned(static_cast<size_t>(w.rows * w.width)));
  }
}

bool CudaArrays::keeps(const Parameter& parameter) const {
  if (training_ || parameter.is_vector()) return true;
  return !shadowed(parameter) && !parameter.fp8;
}

bool CudaArrays::shadowed(const Parameter& parameter) const {
  return shadowed_[static_cast<size_t>(parameter.weight.slot)];
}

bool CudaArrays::covers(DType dtype, const std::vector<bool>& shadows, bool training) const {
  if (training_ != training) return false;
  const bool none = std::find(shadows.begin(), shadows.end(), true) == shadows.end();
  if (none) return training_ || copies_.size() == 0;
  for (size_t slot = 0; slot < shadows.size(); ++slot) {
    if (shadows[slot] && !shadowed_[slot]) return false;
  }
  return dtype == dtype_;
}

void CudaArrays::upload(const Parameters& parameters) {
  CudaStream& stream = cuda_stream();
  const auto& api = kernels::cuda::kernel_api();
  const auto convert = [&](const void* from, void* to, int64_t count) {
    cuda_check(api.convert(DType::f32, from, dtype_, to, count, stream.handle()), "convert");
  };
  const auto quantize = [&](const void* from, const Weight& weight) {
    const auto slot = static_cast<size_t>(weight.slot);
    kernels::cuda::QuantizeFp8 args;
    args.rows = weight.rows;
    args.width = weight.width;
    args.x = from;
    args.bytes = const_cast<void*>(shadows_[slot]);
    args.scales = const_cast<float*>(scales_[slot]);
    cuda_check(api.quantize_fp8(args, stream.handle()), "quantize");
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
    if (parameter.fp8) {
      quantize(landing, parameter.weight);
    } else if (shadowed(parameter)) {
      convert(landing, const_cast<void*>(shadows_[slot]), parameters.elements(parameter.weight));
    }
  }
  stream.synchronize();
}

void CudaArrays::download(void* arena) {
  cuda_stream().copy(arena, master_.data(), master_.size());
  cuda_stream().synchronize();
}

}  // namespace hone::nn

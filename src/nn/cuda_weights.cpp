#include "nn/cuda_weights.h"

#include "nn/parameters.h"

namespace hone::nn {

WeightArrays CudaWeights::arrays_for(DType dtype, const std::vector<bool>& slots, bool training) {
  if (!arrays_ || !arrays_->covers(dtype, slots, training)) {
    refresh_host();
    arrays_.reset();  // the old ones go before the new ones come
    arrays_ = std::make_unique<CudaArrays>(parameters_, dtype, slots, training);
    parameters_.set_stale(true);
  }
  return arrays_->arrays();
}

void CudaWeights::refresh(ThreadPool&, const std::vector<bool>*) {
  if (!parameters_.stale() || !arrays_) return;
  arrays_->upload(parameters_);
  parameters_.set_stale(false);
  host_is_old_ = false;
}

const void* CudaWeights::changed(const Weight& weight) const {
  return host_is_old_ ? arrays_->master() + parameters_.offset(weight) : nullptr;
}

void CudaWeights::refresh_host() {
  if (host_is_old_) arrays_->download(parameters_.arena_data());
  host_is_old_ = false;
}

}  // namespace hone::nn

#include "models/plain_family.h"

#include "base/error.h"

namespace hone::models {

const MakeOptions& plain_options(std::string_view model, const ModelConfig& config,
                                 const MakeOptions& options) {
  if (options.dtype == DType::i8 || options.dtype == DType::f8) {
    fail(ErrorKind::unsupported, "dtype: {} has no kernels for {}; use bf16",
         quote(dtype_name(options.dtype)), model);
  }
  if (options.lora) fail(ErrorKind::unsupported, "lora: {} takes no adapters", model);
  if (config.exits.method != ExitMethod::none) {
    fail(ErrorKind::unsupported, "model.exits: {} has no early exits", model);
  }
  return options;
}

DType dtype_of_weights(const MakeOptions& options) {
  return options.target.device == DeviceKind::cuda ? DType::f32 : options.dtype;
}

}  // namespace hone::models

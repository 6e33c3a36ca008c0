#include "infer/model_options.h"

#include <cmath>
#include <optional>

#include "base/error.h"
#include "io/folder.h"
#include "models/family.h"
#include "models/stored_weights.h"

namespace hone::infer {
namespace {

constexpr int64_t kMostImagePixels = int64_t{1} << 32;

bool has_head(const std::string& model) {
  const models::ModelFolder folder = models::open_model_folder(io::resolve_model(model));
  if (folder.sentence) return false;
  return models::open_stored(folder).has_head(models::family_of(*folder.config));
}

std::optional<DType> dtype_of(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "fp32") return DType::f32;
  if (name == "bf16") return DType::bf16;
  if (name == "int8") return DType::i8;
  if (name == "fp8") return DType::f8;
  fail(ErrorKind::usage, "dtype: expected fp32, bf16, int8 or fp8, got {}", quote(name));
}

std::optional<ops::Pooling> pooling_of(hone::Pooling pooling) {
  switch (pooling) {
    case Pooling::mean:
      return ops::Pooling::mean;
    case Pooling::cls:
      return ops::Pooling::cls;
    case Pooling::max:
      return ops::Pooling::max;
    default:
      return std::nullopt;
  }
}

void check(const ModelOptions& options) {
  const auto at_least = [](const char* field, double value, double least) {
    if (!(value >= least) || !std::isfinite(value)) {
      fail(ErrorKind::usage, "{}: expected a number of at least {}, got {}", field, least, value);
    }
  };
  at_least("threads", options.threads, 0);
  at_least("max_length", static_cast<double>(options.max_length), 0);
  at_least("patience", static_cast<double>(options.patience.value_or(1)), 1);
  at_least("entropy", options.entropy.value_or(0), 0);
  at_least("deadline", options.deadline, 0);
  if (options.max_image_pixels < 1 || options.max_image_pixels > kMostImagePixels) {
    fail(ErrorKind::usage, "max_image_pixels: expected a number from 1 to {}, got {}",
         kMostImagePixels, options.max_image_pixels);
  }
}

}  // namespace

SessionOptions session_options(const std::string& model, const ModelOptions& options) {
  check(options);
  const bool predicts =
      options.use == Use::automatic ? has_head(model) : options.use == Use::predict;
  SessionOptions settings;
  settings.output = predicts ? models::Output::logits : models::Output::embedding;
  settings.device = options.device;
  settings.dtype = dtype_of(options.dtype);
  settings.threads = options.threads;
  settings.max_length = options.max_length;
  settings.memory_budget = options.memory_budget;
  settings.tuning = options.tuning;
  settings.pooling = pooling_of(options.pooling);
  settings.normalize = options.normalize;
  settings.exits = options.exits;
  settings.patience = options.patience;
  settings.entropy = options.entropy;
  settings.deadline = options.deadline;
  settings.image_limits.max_pixels = options.max_image_pixels;
  return settings;
}

}  // namespace hone::infer

#pragma once

#include "models/model_config.h"
#include "ops/loss.h"
#include "train/options.h"

namespace hone::train {

/// Puts the price of layers into the loss of adaptive exits; other models' stays as it is. A loss
/// that such exits cannot learn from, and a file of costs of another model or device, are errors.
void price_exits(const Options& options, const models::ModelConfig& config, ops::LossOptions& loss);

}  // namespace hone::train

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/weights.h"
#include "models/family.h"

/// State dicts of ResNets that other libraries save, which come without a config.
namespace hone::models {

/// Gives what torchvision and timm, and the authors of forms for CIFAR, call a tensor, with and
/// without the prefix of DataParallel.
std::vector<std::string> resnet_names(const std::string& name);

/// Gives the config.json that the names and shapes of the tensors speak for; nothing where they are
/// no ResNet's. Strides have no shape: a bottleneck's is taken to be in the 3x3 (v1.5).
std::optional<Json> guess_resnet(const Family& family, const io::Weights& weights);

}  // namespace hone::models

#pragma once

#include "models/config.h"
#include "models/folder.h"

namespace hone::models {

/// The config of a folder that holds an encoder.
inline EncoderConfig& encoder_config(const ModelFolder& folder) {
  return dynamic_cast<EncoderConfig&>(*folder.config);
}

}  // namespace hone::models

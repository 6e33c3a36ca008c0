#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "data/processor.h"
#include "data/records.h"
#include "models/model_config.h"

namespace hone::models {

/// The parts that a model from nothing starts with.
struct NewModel {
  Json config_json;
  std::unique_ptr<ModelConfig> config;
  std::unique_ptr<data::Processor> processor;
};

/// Says what a family may make a new model's processor of.
struct NewModelOptions {
  std::string tokenizer = {};  ///< where the processor's files are; empty: made from the samples
  int64_t max_units = 0;       ///< most units of a sample; 0: what the config says
  /// Opens the training samples; empty where there are none.
  std::function<std::unique_ptr<data::RecordStream>()> open = {};
};

}  // namespace hone::models

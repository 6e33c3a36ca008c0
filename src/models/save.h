#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "models/encoder.h"
#include "models/store.h"

namespace hone::models {

/// Where an array that lies as a parameter's slot does is found: the weights, or a moment.
using PackedSource = std::function<ConstPackedArray(const nn::Parameter&)>;

/// Streams one array for each of the parameters into a safetensors file, a tensor at a time and
/// under the names of their checkpoint tensors: nothing in the file tells the packed layout.
/// `name_of` may rename. The file appears complete or not at all.
void save_arrays(const std::vector<const nn::Parameter*>& parameters, const PackedSource& source,
                 const std::function<std::string(const std::string&)>& name_of,
                 const std::string& path);

/// The same of an encoder's weights, under `prefix` and transformers' names.
void save_slots(const Encoder& encoder, const std::vector<const nn::Parameter*>& parameters,
                const std::string& prefix, const std::string& path);

/// Writes the encoder's weights as model.safetensors of `folder`, fp32, under the names that
/// transformers saves them with: with the family's prefix where there is a head. Adapters are
/// left out.
void save_weights(const Encoder& encoder, const std::string& folder);

/// Writes what an encoder with adapters trains as PEFT does: adapter_model.safetensors and
/// adapter_config.json of `folder`. The head goes along, and so does any other slot that
/// `trainable` names. `base` is where the rest of the weights are found: the folder that they were
/// loaded from, or its name.
void save_adapter(const Encoder& encoder, const std::vector<bool>& trainable,
                  const std::string& base, const std::string& folder);

/// The config.json that belongs to save_weights(): `source` (the one that the encoder's config was
/// read from) with the encoder's class, labels, problem and dtype.
Json config_for_saving(Json source, const Encoder& encoder);
/// Writes it into `folder`.
void save_config(const Json& source, const Encoder& encoder, const std::string& folder);

}  // namespace hone::models

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "models/model.h"
#include "nn/packed_rows.h"

namespace hone::models {

/// Tells where an array that lies as a parameter's slot does is found: the weights, or a moment.
using PackedSource = std::function<nn::ConstPackedArray(const nn::Parameter&)>;

/// Streams one array for each of the parameters into a safetensors file, a tensor at a time and
/// under the names of their checkpoint tensors: nothing in the file tells the packed layout.
/// `name_of` may rename. The file appears complete or not at all.
void save_arrays(const std::vector<const nn::Parameter*>& parameters, const PackedSource& source,
                 const std::function<std::string(const std::string&)>& name_of,
                 const std::string& path);

/// Describes a safetensors file of a model folder before it is written.
struct ArrayFile {
  std::string name;                                        ///< a name within the folder
  std::vector<const nn::Parameter*> parameters;            ///< owned by the model
  std::function<std::string(const std::string&)> name_of;  ///< a tensor's name in the file
};

/// Writes an ArrayFile into `folder`.
void save_arrays(const ArrayFile& file, const PackedSource& source, const std::string& folder);

/// Describes model.safetensors with the model's weights, in fp32 and under the names that
/// transformers saves them with: with the family's prefix where there is a head. Adapters are left
/// out. The model must outlive the result.
ArrayFile weights_file(const Model& model);

/// Describes adapter_model.safetensors with what a model with adapters trains, as PEFT saves it.
/// The head goes along, and so does any other slot that `trainable` names. The model must outlive
/// the result.
ArrayFile adapter_file(const Model& model, const std::vector<bool>& trainable);
/// Gives the adapter_config.json of adapter_file(). `base` is where the rest of the weights are
/// found: the folder that they were loaded from, or its name.
Json adapter_config(const Model& model, const std::vector<bool>& trainable,
                    const std::string& base);

/// Gives the model's weights as they lie on the host, which must outlive the result.
PackedSource weights_of(const Model& model);
/// Writes weights_file() with the model's weights into `folder`.
void save_weights(const Model& model, const std::string& folder);
/// Writes adapter_file() with the model's weights, and adapter_config.json, into `folder`.
void save_adapter(const Model& model, const std::vector<bool>& trainable, const std::string& base,
                  const std::string& folder);

/// Gives the config.json that belongs to save_weights(): `source` (the one that the encoder's
/// config was read from) with the encoder's class, labels, problem and dtype.
Json config_for_saving(Json source, const Model& model);
/// Writes config_for_saving() into `folder`.
void save_config(const Json& source, const Model& model, const std::string& folder);

}  // namespace hone::models

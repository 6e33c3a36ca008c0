#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace hone::models {

/// Says, by slot, what training changes: everything, but in an encoder with adapters these alone,
/// the classification head and `added`, the slots that the checkpoint did not have (see
/// LoadReport). The tensors that one of the comma-separated patterns of `freeze` matches are left
/// out. A pattern is a shell's (`*` any letters, `?` one, `[0-3]` one of a set) and is held against
/// whole names as transformers writes them, such as `bert.model.layer.0.output.dense.weight`. A
/// pattern that matches nothing, one that matches a part of a matrix that is kept in one piece
/// (keys and values), and freezing everything are usage errors.
std::vector<bool> trainable_slots(const Model& model, const std::string& freeze,
                                  const std::vector<bool>& added = {});

}  // namespace hone::models

#pragma once

#include <string_view>

#include "tensor/dtype.h"

namespace hone::io {

/// A name that a pickle of tensors may mention, and what it stands for; no other global is known.
struct PickleGlobal {
  enum class Role { ordered_dict, rebuild_tensor, rebuild_parameter, storage };
  std::string_view name;
  Role role;
  DType dtype = DType::f32;  ///< dtype of a storage's elements
};

/// Index of the global "module.name", or -1.
int find_pickle_global(std::string_view name);
const PickleGlobal& pickle_global(int index);

}  // namespace hone::io

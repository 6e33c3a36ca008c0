#pragma once

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "io/weights.h"
#include "models/encoder.h"

namespace hone::models {

/// What a checkpoint holds that a model does not use, by name; not an error.
struct LoadReport {
  std::vector<std::string> unexpected;
};

/// Fills the encoder's parameters from a checkpoint, tensor by tensor through a small buffer a
/// thread: no second copy of the weights ever exists. Names are found with and without the
/// family's prefix, and norms also under their old names (gamma, beta). Missing and misshapen
/// weights are listed by name in one error; so is a tensor with a value that is not finite.
LoadReport load_weights(Encoder& encoder, const io::Weights& weights, ThreadPool& pool);

/// Today's name of a tensor that an old conversion called gamma or beta; other names as they are.
std::string modern_name(const std::string& name);

/// Whether the checkpoint has the family's classification head.
bool has_head_weights(const Family& family, const io::Weights& weights);

/// The tensor of a family's parameter in a checkpoint, under any of the names it may have; null
/// where there is none.
const io::TensorInfo* find_tensor(const Family& family, const io::Weights& weights,
                                  const std::string& name);

}  // namespace hone::models

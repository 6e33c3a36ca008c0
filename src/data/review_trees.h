#pragma once

#include <memory>
#include <string>

#include "data/tree_file.h"

namespace hone::data {

/// Gives the trees of a split of the built-in reviews, of its first `most` sentences (-1: all). The
/// grammar that makes a sentence makes its tree, whose labels are sentiments.
std::shared_ptr<TreeBank> review_trees(const std::string& split, int64_t most);

}  // namespace hone::data

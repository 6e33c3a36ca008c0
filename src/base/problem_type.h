#pragma once

namespace hone {

/// Says what a classifier answers, and what its labels are.
enum class ProblemType {
  single_label,  ///< one of the labels
  multi_label,   ///< any number of the labels
  regression,    ///< a number
};

}  // namespace hone

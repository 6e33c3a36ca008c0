#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/value.h"

namespace hone {

/// Says how the sizes of a model's axes come about: which ones a batch gives, which ones follow
/// from others, and to what sizes a device that replays recorded graphs rounds them up.
class Axes {
 public:
  /// Gives an axis' size in a bucket. `bucket` holds the rounded sizes of the axes declared before.
  using Round = std::function<int64_t(const Extents& batch, const Extents& bucket)>;
  /// Gives an axis' size from those of the axes declared before.
  using Derive = std::function<int64_t(const Extents& extents)>;

  /// Declares an axis whose size comes with the batch. Without `round` a bucket has that very size.
  void count(Axis axis, std::string name, Round round = {});
  /// Declares an axis whose size follows from others.
  void derived(Axis axis, std::string name, Derive derive);

  /// Fills in the derived sizes of a batch.
  Extents complete(Extents batch) const;
  /// Gives the sizes of the bucket that serves a batch; none is smaller than the batch's.
  Extents bucket(const Extents& batch) const;

 private:
  struct Rule {
    Axis axis;
    std::string name;
    Round round;
    Derive derive;
  };
  std::vector<Rule> rules_;
};

}  // namespace hone

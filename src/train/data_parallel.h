#pragma once

#include <memory>
#include <vector>

#include "train/strategy.h"

namespace hone::train {

/// One process with several devices, for comparison with one process a device: devices are groups
/// of threads of the processor. They read one set of weights; each has gradients of its own, which
/// the process sums when all are done, as torch's DataParallel does.
class DataParallel : public Strategy {
 public:
  explicit DataParallel(const Parts& parts);
  ~DataParallel() override;
  void run(const std::vector<SliceBatches>& slices, size_t batches, const StepState& state,
           const Done& done) override;

 private:
  struct Device;
  void sum_gradients();

  std::vector<std::unique_ptr<Device>> devices_;  ///< the first one's gradients are the optimiser's
};

}  // namespace hone::train

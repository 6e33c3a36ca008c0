#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "device/memory.h"
#include "nn/parameters.h"

namespace hone::train {

/// The moving average of a model's weights and state over the steps of a run on the processor:
/// average += (1 - decay) * (weights - average), element by element. It begins as the weights and
/// follows them closely at first: in step n, decay is at most (1 + n) / (10 + n).
class WeightAverage {
 public:
  /// `parameters` are allocated, in fp32, and outlive this; decay is below 1.
  WeightAverage(nn::Parameters& parameters, double decay);

  /// Sets the average to the weights as they are now.
  void begin();
  /// Takes in the weights behind a step; steps count from 1.
  void update(int64_t step, ThreadPool& pool);
  /// Swaps the average with the model's weights.
  void exchange(ThreadPool& pool);
  /// Gives where a slot's average lies, laid out as the slot.
  float* data(const Weight& weight);

 private:
  nn::Parameters& parameters_;
  double decay_;
  Buffer average_;
};

}  // namespace hone::train

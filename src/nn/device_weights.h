#pragma once

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "plan/frame.h"

namespace hone::nn {

class Parameters;

/// Holds what plans of one device read of a parameter set, beside the set's own arrays on the host:
/// shadows in other dtypes, and copies where the device has memory of its own.
class DeviceWeights {
 public:
  /// `parameters` must be allocated, stay where it is and outlive this.
  static std::unique_ptr<DeviceWeights> make(Parameters& parameters);
  virtual ~DeviceWeights() = default;

  /// Gives the arrays for a plan of `dtype` that reads the shadows of these slots. Shadows of
  /// another dtype than before replace the ones before. Where `training`, what is read may change.
  virtual WeightArrays arrays_for(DType dtype, const std::vector<bool>& slots, bool training) = 0;
  /// Brings the device's arrays up to what the host's have become; only `changed` slots where the
  /// caller knows which they are.
  virtual void refresh(ThreadPool& pool, const std::vector<bool>* changed) = 0;
  /// Brings the host's arrays up to what training has made of these.
  virtual void refresh_host() = 0;
  /// Gives where a slot lies that training has changed since the host's arrays were brought up to
  /// it; null where the host's are as new.
  virtual const void* changed(const Weight& /*weight*/) const { return nullptr; }
  /// Gives the device's memory back, after refresh_host(); plans that read it must be gone.
  virtual void release() = 0;
};

}  // namespace hone::nn

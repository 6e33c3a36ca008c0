#include "train/processor_peak.h"

#include <map>
#include <mutex>
#include <tuple>

#include "kernels/cpu/peak.h"

namespace hone::train {

double processor_peak(Isa isa, DType dtype, ThreadPool& pool) {
  static std::mutex mutex;
  static std::map<std::tuple<Isa, DType, int>, double> measured;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = measured.try_emplace({isa, dtype, pool.size()}, 0);
  if (is_new) found->second = 1e9 * kernels::measured_peak(isa, dtype, pool);
  return found->second;
}

}  // namespace hone::train

#include "kernels/cpu/peak.h"

#include <algorithm>

#include "base/clock.h"
#include "kernels/cpu/peak_loop.h"

namespace hone::kernels {

double measured_peak(Isa isa, DType dtype, ThreadPool& pool) {
  const PeakLoop loop = peak_loop(isa, dtype);
  double best = 0;
  for (int attempt = 0; attempt < 60; ++attempt) {
    const Stopwatch watch;
    pool.run(pool.size(), [&](int64_t, int) {
      volatile float sink = loop.run();
      (void)sink;
    });
    best = std::max(best, loop.flops * pool.size() / watch.seconds() / 1e9);
  }
  return best;
}

}  // namespace hone::kernels

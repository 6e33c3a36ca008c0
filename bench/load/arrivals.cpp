#include "load/arrivals.h"

#include <cmath>
#include <random>

namespace hone::load {

std::vector<Arrival> poisson_arrivals(const Options& options) {
  std::mt19937_64 random(options.seed);
  // A uniform number in [0, 1) by hand: the distributions of the library differ between compilers.
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<Arrival> arrivals;
  double begin = 0;
  const auto add = [&](const Phase& phase, int number) {
    const double end = begin + phase.seconds;
    double at = begin;
    while (phase.rate > 0 && (at -= std::log1p(-uniform()) / phase.rate) < end) {
      arrivals.push_back({at, number, uniform() < options.abandon});
    }
    begin = end;
  };
  if (options.warmup > 0) add({options.phases.at(0).rate, options.warmup}, -1);
  for (size_t i = 0; i < options.phases.size(); ++i) {
    add(options.phases[i], static_cast<int>(i));
  }
  return arrivals;
}

}  // namespace hone::load

#pragma once

#include <span>
#include <string>
#include <vector>

#include "profile/recorder.h"

namespace hone::profile {

/// One row of the table of a profile's window.
struct OpRow {
  std::string name;
  std::string layer = {};  ///< the op's scope, where rows are by layer
  bool op = false;         ///< false: a span, or what no name explains
  int64_t calls = 0;
  double self_seconds = 0;   ///< by the clock of the threads, without what it called
  double total_seconds = 0;  ///< includes what it called
  double device_seconds = 0;
  double share = 0;  ///< share of the window; all rows sum to 1
  double bytes = 0;
  double flops = 0;
};

/// Sums up the window by name, or by layer and name; the row that took most comes first. Rows are
/// those of the threads that ran ops, or of the main one; their time that no event covers is the
/// row "unnamed". Where there is a device, shares are of its time, and what the host did meanwhile
/// has none.
std::vector<OpRow> op_table(const Recorder& recorder, bool by_layer = false);

/// Gives the seconds of the window in which the device ran ops; 0 without a device.
double device_busy_seconds(const Recorder& recorder);

/// A piece of the window in which the device did nothing.
struct IdleGap {
  double begin;  ///< seconds since the recorder was made
  double seconds;
  std::string cause;  ///< what the main thread did for most of it
};
/// Lists the gaps of at least `least` seconds, longest first.
std::vector<IdleGap> idle_gaps(const Recorder& recorder, double least = 20e-6);
/// Lists the gaps between the events of a device, one behind the other, beside those of a host.
std::vector<IdleGap> idle_gaps(std::span<const Event> device, std::span<const Event> host,
                               double least);

}  // namespace hone::profile

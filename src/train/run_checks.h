#pragma once

#include "comm/communicator.h"
#include "train/options.h"

namespace hone::train {

/// Refuses options that contradict each other or the ranks.
void check(const Options& options, const comm::Communicator& ranks);
/// Refuses what a GPU does not do yet, where the options' device is one.
void check_device(const Options& options, const comm::Communicator& ranks);
/// Refuses to mix old results with new ones, or to lose them unasked.
void prepare_output(const Options& options);

/// Counts the devices that share a batch; each adds its own batch's size to it.
int64_t devices_of(const Options& options, const comm::Communicator& ranks);

}  // namespace hone::train

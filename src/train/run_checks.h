#pragma once

#include <string>

#include "comm/communicator.h"
#include "train/options.h"

namespace hone::train {

/// Refuses options that contradict each other or the ranks.
void check(const Options& options, const comm::Communicator& ranks);
/// Gives the name of the device that a rank takes: of "auto" and "cuda" each rank of a host has a
/// GPU of its own, as far as `gpus` go.
std::string device_of_rank(const std::string& name, const comm::Communicator& ranks, int64_t gpus);
/// Refuses what a GPU does not do yet, where the options' device is one.
void check_device(const Options& options, const comm::Communicator& ranks);
/// Refuses to mix old results with new ones, or to lose them unasked.
void prepare_output(const Options& options);

/// Counts the devices that share a batch.
int64_t devices_of(const Options& options, const comm::Communicator& ranks);
/// Counts the devices of which each adds its own batch's size to the batch: some may be lost.
int64_t batch_devices_of(const Options& options, const comm::Communicator& ranks);

}  // namespace hone::train

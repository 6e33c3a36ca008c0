#pragma once

#include <string>

namespace hone {

/// Gives the PCI bus id of one of CUDA's devices, as this process counts them
/// (CUDA_VISIBLE_DEVICES); empty where the driver does not say. The driver must be at work.
std::string gpu_bus_id(int cuda_device, const char* driver = "libcuda.so.1");

/// Notes and gives the PCI bus id of the GPU that this process computes on, the one that was
/// selected last; empty: none. Any thread may call them.
void set_used_gpu(const std::string& bus_id);
std::string used_gpu();

}  // namespace hone

#include "hone/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/version.h"
#include "device/cpu_info.h"
#include "device/cuda.h"

namespace hone {
namespace {

Device processor() {
  Device device;
  device.name = "cpu";
  device.model = cpu_info().name;
  device.cores = usable_cores();
  device.memory_bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  try {
    device.instructions = isa_name(chosen_isa());
  } catch (const Error& error) {
    device.missing = error.what();
  }
  return device;
}

}  // namespace

const char* version() { return kVersion; }

std::vector<Device> devices() {
  std::vector<Device> found = {processor()};
  for (const CudaDevice& gpu : cuda_info().devices) {
    Device device;
    device.name = fmt::format("cuda:{}", gpu.index);
    device.model = gpu.name;
    device.cores = gpu.multiprocessors;
    device.memory_bytes = gpu.memory_bytes;
    device.instructions = fmt::format("{}.{}", gpu.major, gpu.minor);
    device.missing = gpu.missing;
    found.push_back(std::move(device));
  }
  return found;
}

std::string missing_for_gpu() { return cuda_info().missing; }

}  // namespace hone

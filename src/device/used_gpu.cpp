#include "device/used_gpu.h"

#include <array>
#include <mutex>

#include "base/library.h"

namespace hone {
namespace {

struct UsedGpu {
  std::mutex mutex;
  std::string bus_id;
};

UsedGpu& noted() {
  static UsedGpu used;
  return used;
}

}  // namespace

std::string gpu_bus_id(int cuda_device, const char* driver) {
  const Library library = open_library(driver);
  if (!library.handle) return {};
  const auto device_of = find_function<int (*)(int*, int)>(library, "cuDeviceGet");
  const auto bus_of = find_function<int (*)(char*, int, int)>(library, "cuDeviceGetPCIBusId");
  std::array<char, 32> text{};
  int device = 0;
  const bool known = device_of && bus_of && device_of(&device, cuda_device) == 0 &&
                     bus_of(text.data(), static_cast<int>(text.size()) - 1, device) == 0;
  close_library(library);
  return known ? text.data() : "";
}

void set_used_gpu(const std::string& bus_id) {
  const std::lock_guard lock(noted().mutex);
  noted().bus_id = bus_id;
}

std::string used_gpu() {
  const std::lock_guard lock(noted().mutex);
  return noted().bus_id;
}

}  // namespace hone

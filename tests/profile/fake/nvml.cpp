// Three GPUs as NVIDIA's management library and driver tell of them: what they use is their number
// on the bus, and the driver counts them from the other end.
#include <cstdio>
#include <cstring>

namespace {

constexpr const char* kBus[] = {"0000:17:00.0", "0000:31:00.0", "0000:65:00.0"};
constexpr const char* kUuids[] = {"GPU-0", "GPU-1", "GPU-2"};
constexpr int kNotFound = 6;

int number_of(void* device) {
  return static_cast<int>(static_cast<const char* const*>(device) - kBus);
}

void* device_of(int number) { return const_cast<const char**>(&kBus[number]); }

int find(const char* const (&names)[3], const char* name, void** device) {
  for (int i = 0; i < 3; ++i) {
    if (std::strcmp(names[i], name) != 0) continue;
    *device = device_of(i);
    return 0;
  }
  return kNotFound;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 3) return kNotFound;
  *device = device_of(static_cast<int>(index));
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  return find(kBus, bus, device);
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  return find(kUuids, uuid, device);
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* shares) {
  shares[0] = shares[1] = static_cast<unsigned>(10 * number_of(device));
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* bytes) {
  bytes[0] = bytes[1] = 100;
  bytes[2] = static_cast<unsigned long long>(number_of(device));
  return 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = static_cast<unsigned>(1000 * number_of(device));
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = static_cast<unsigned long long>(10'000 * number_of(device));
  return 0;
}

int cuDeviceGet(int* device, int number) {
  *device = 2 - number;
  return number >= 0 && number < 3 ? 0 : 101;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  return std::snprintf(text, static_cast<size_t>(bytes), "%s", kBus[device]) < bytes ? 0 : 1;
}
}

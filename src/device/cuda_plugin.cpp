// Opens the plugin and asks it what is there.

#include <fmt/format.h>

#include "base/error.h"
#include "base/library.h"
#include "base/plugin.h"
#include "device/cuda.h"

namespace hone {
namespace {

struct Plugin {
  CudaInfo info;
  Library library;
  const CudaDeviceApi* api = nullptr;
};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

constexpr int kLeastMajor = 8;  // least compute capability: bf16 on tensor cores

/// Says in one line why kernels do not run there; empty: they do.
std::string why_not(const CudaDeviceFacts& facts) {
  const std::string name =
      fmt::format("{} has compute capability {}.{}", facts.name, facts.major, facts.minor);
  if (facts.major < kLeastMajor) return fmt::format("{}; hone needs {}.0", name, kLeastMajor);
  if (facts.missing[0] == '\0') return {};
  return fmt::format("{}, for which this hone was not built: {}", name, facts.missing);
}

CudaDevice device_of(int index, const CudaDeviceFacts& facts) {
  CudaDevice device;
  device.index = index;
  device.name = facts.name;
  device.missing = why_not(facts);
  device.memory_bytes = facts.memory_bytes;
  device.l2_bytes = facts.l2_bytes;
  device.major = facts.major;
  device.minor = facts.minor;
  device.multiprocessors = facts.multiprocessors;
  return device;
}

Plugin open_plugin(const std::string& path) {
  Plugin plugin;
  plugin.library = open_library(path);
  if (!plugin.library.handle) {
    plugin.info.missing =
        fmt::format("the CUDA plugin cannot be opened: {}", plugin.library.missing);
    return plugin;
  }
  plugin.info.plugin = path;
  using Entry = const CudaDeviceApi* (*)();
  const auto entry = find_function<Entry>(plugin.library, "hone_cuda_device_api");
  const CudaDeviceApi* api = entry ? entry() : nullptr;
  if (!api || api->version != kCudaApiVersion) {
    plugin.info.missing = fmt::format(
        "{} is not the CUDA plugin of this version of hone (its "
        "interface is {}, this one {})",
        path, api ? api->version : 0, kCudaApiVersion);
    return plugin;
  }
  plugin.api = api;
  plugin.info = look_for_devices(*api);
  plugin.info.plugin = path;
  return plugin;
}

const Plugin& plugin() {
  static const Plugin opened = open_plugin(plugin_path("HONE_CUDA_PLUGIN", "libhone_cuda.so"));
  return opened;
}

}  // namespace

CudaInfo look_for_devices(const CudaDeviceApi& api) {
  CudaInfo info;
  int32_t runtime = 0, driver = 0, count = 0;
  if (const CudaStatus status = api.versions(&runtime, &driver)) {
    info.missing = fmt::format("the CUDA runtime does not start: {}", status);
    return info;
  }
  info.runtime = runtime;
  info.driver = driver;
  if (driver == 0) {
    info.missing = "no NVIDIA driver is installed";
    return info;
  }
  if (driver / 1000 < runtime / 1000) {
    info.missing = fmt::format(
        "the NVIDIA driver supports CUDA {}, hone was built with {}: a newer driver is needed",
        version_text(driver), version_text(runtime));
    return info;
  }
  if (const CudaStatus status = api.device_count(&count); status || count == 0) {
    info.missing = fmt::format("no CUDA device: {}", status ? status : "the driver lists none");
    return info;
  }
  for (int32_t i = 0; i < count; ++i) {
    CudaDeviceFacts facts = {};
    if (const CudaStatus status = api.device_facts(i, &facts)) {
      info.missing = fmt::format("CUDA device {}: {}", i, status);
      return info;
    }
    info.devices.push_back(device_of(i, facts));
  }
  for (const CudaDevice& device : info.devices) {
    if (device.missing.empty()) return info;
  }
  info.missing = info.devices.front().missing;
  return info;
}

const CudaInfo& cuda_info() { return plugin().info; }

CudaInfo probe_cuda(const std::string& path) {
  Plugin probed = open_plugin(path);
  close_library(probed.library);
  return std::move(probed.info);
}

const CudaDeviceApi& cuda_api() {
  if (!plugin().info.missing.empty()) {
    fail(ErrorKind::unsupported, "device: cuda: {}", plugin().info.missing);
  }
  return *plugin().api;
}

void* cuda_symbol(const char* name) { return find_symbol(plugin().library, name); }

}  // namespace hone

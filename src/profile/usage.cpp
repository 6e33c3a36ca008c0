#include "profile/usage.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/library.h"
#include "device/memory.h"
#include "device/used_gpu.h"

namespace hone::profile {
namespace {

constexpr double kMicro = 1e-6;

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Starts a thread that takes no signal: they are for those that were made to await them.
template <typename Body>
std::thread without_signals(const Body& body) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(body);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

std::optional<uint64_t> read_number(const std::string& file) {
  std::ifstream in(file);
  uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

/// Gives the bytes that went through to storage: those of two lines of /proc/self/io.
std::optional<uint64_t> storage_bytes(const std::string& root) {
  std::ifstream in(root + "/proc/self/io");
  std::optional<uint64_t> sum;
  std::string name;
  for (uint64_t value = 0; in >> name >> value;) {
    if (name == "read_bytes:" || name == "write_bytes:") sum = sum.value_or(0) + value;
  }
  return sum;
}

template <typename T>
std::optional<double> as_number(const std::optional<T>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

/// The functions of NVIDIA's management library that are called, by its published interface.
struct UsageReader::Gpu {
  struct Utilization {
    unsigned gpu, memory;
  };
  struct Memory {
    unsigned long long total, free, used;
  };
  Library library;
  void* device = nullptr;  ///< the one that is looked at; null: none
  std::string bus_id;      ///< the one that this process computed on when it was last asked
  int (*shutdown)() = nullptr;
  int (*by_index)(unsigned, void**) = nullptr;
  int (*by_bus_id)(const char*, void**) = nullptr;
  int (*by_uuid)(const char*, void**) = nullptr;
  int (*utilization)(void*, Utilization*) = nullptr;
  int (*memory)(void*, Memory*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;

  /// Gives null where the library is not there.
  static std::unique_ptr<Gpu> open(const char* name) {
    auto gpu = std::make_unique<Gpu>();
    gpu->library = open_library(name);
    if (!gpu->library.handle) return nullptr;
    int (*init)() = nullptr;
    gpu->find("nvmlInit_v2", init);
    gpu->find("nvmlShutdown", gpu->shutdown);
    gpu->find("nvmlDeviceGetHandleByIndex_v2", gpu->by_index);
    gpu->find("nvmlDeviceGetHandleByPciBusId_v2", gpu->by_bus_id);
    gpu->find("nvmlDeviceGetHandleByUUID", gpu->by_uuid);
    gpu->find("nvmlDeviceGetUtilizationRates", gpu->utilization);
    gpu->find("nvmlDeviceGetMemoryInfo", gpu->memory);
    gpu->find("nvmlDeviceGetPowerUsage", gpu->power);
    gpu->find("nvmlDeviceGetTotalEnergyConsumption", gpu->energy);
    if (!init || !gpu->shutdown || !gpu->by_index || !gpu->by_bus_id || !gpu->by_uuid ||
        init() != 0) {
      gpu->shutdown = nullptr;
      return nullptr;
    }
    return gpu;
  }
  ~Gpu() {
    if (shutdown) shutdown();
    close_library(library);
  }
  template <typename Function>
  void find(const char* name, Function& function) {
    function = find_function<Function>(library, name);
  }

  /// Looks at the GPU that this process computes on, by what does not depend on who counts.
  void look_at_own() {
    const std::string used = used_gpu();
    if (used == bus_id) return;
    bus_id = used;
    if (used.empty() || by_bus_id(used.c_str(), &device) != 0) device = nullptr;
  }
  /// Looks at the first GPU of CUDA_VISIBLE_DEVICES: a UUID, or a number in the order of the bus.
  void look_at_visible() {
    const char* variable = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::string all = variable ? variable : "0";
    const std::string first = all.substr(0, all.find(','));
    unsigned index = 0;
    const char* end = first.data() + first.size();
    const auto [stop, error] = std::from_chars(first.data(), end, index);
    const bool number = error == std::errc() && stop == end;
    const int status = number ? by_index(index, &device) : by_uuid(first.c_str(), &device);
    if (status != 0) device = nullptr;
  }

  void read(UsageSample& sample) const {
    if (!device) return;
    if (Utilization share{}; utilization && utilization(device, &share) == 0) {
      sample.device_busy = share.gpu / 100.;
    }
    if (Memory bytes{}; memory && memory(device, &bytes) == 0) sample.device_bytes = bytes.used;
    if (unsigned milliwatts = 0; power && power(device, &milliwatts) == 0) {
      sample.device_watts = milliwatts / 1000.;
    }
    if (unsigned long long millijoules = 0; energy && energy(device, &millijoules) == 0) {
      sample.device_joules = static_cast<double>(millijoules) / 1000.;
    }
  }
};

const std::vector<UsageNumber>& usage_numbers() {
  static const std::vector<UsageNumber> numbers = {
      {"resident_bytes",
       [](const UsageSample& s) { return std::optional(static_cast<double>(s.resident_bytes)); }},
      {"busy_cores", [](const UsageSample& s) { return std::optional(s.busy_cores); }},
      {"disk_bytes", [](const UsageSample& s) { return as_number(s.disk_bytes); }},
      {"device_bytes", [](const UsageSample& s) { return as_number(s.device_bytes); }},
      {"device_busy", [](const UsageSample& s) { return s.device_busy; }},
      {"device_watts", [](const UsageSample& s) { return s.device_watts; }},
      {"device_joules", [](const UsageSample& s) { return s.device_joules; }},
      {"processor_joules", [](const UsageSample& s) { return s.processor_joules; }}};
  return numbers;
}

UsageReader::UsageReader(WatchedGpu gpu, std::string root, const char* nvml)
    : watched_(gpu), root_(std::move(root)), gpu_(Gpu::open(nvml)), begin_(monotonic_seconds()) {
  last_processor_ = processor_seconds();
  if (gpu_ && watched_ == WatchedGpu::visible) gpu_->look_at_visible();
  std::error_code error;
  // One folder a package; those with two colons are parts of one.
  for (const auto& entry :
       std::filesystem::directory_iterator(root_ + "/sys/class/powercap", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("intel-rapl:") || std::ranges::count(name, ':') != 1) continue;
    const std::string folder = entry.path();
    const auto now = read_number(folder + "/energy_uj");
    const auto range = read_number(folder + "/max_energy_range_uj");
    if (now && range) packages_.push_back({folder + "/energy_uj", *range, *now, 0});
  }
}

UsageReader::~UsageReader() = default;

void UsageReader::read_energy(UsageSample& sample) {
  double sum = 0;
  for (Package& package : packages_) {
    const auto now = read_number(package.file);
    if (!now) return;
    const uint64_t wrapped = *now < package.last ? package.range : 0;
    package.joules += static_cast<double>(*now + wrapped - package.last) * kMicro;
    package.last = *now;
    sum += package.joules;
  }
  if (!packages_.empty()) sample.processor_joules = sum;
}

UsageSample UsageReader::read() {
  UsageSample sample;
  sample.seconds = monotonic_seconds() - begin_;
  sample.resident_bytes = resident_bytes();
  sample.processor_seconds = processor_seconds();
  const double passed = sample.seconds - last_seconds_;
  if (passed > 0) sample.busy_cores = (sample.processor_seconds - last_processor_) / passed;
  last_seconds_ = sample.seconds;
  last_processor_ = sample.processor_seconds;
  sample.disk_bytes = storage_bytes(root_);
  if (gpu_) {
    if (watched_ == WatchedGpu::own) gpu_->look_at_own();
    gpu_->read(sample);
  }
  read_energy(sample);
  return sample;
}

UsageSampler::UsageSampler(double interval_seconds, WatchedGpu gpu)
    : reader_(gpu), interval_(interval_seconds), thread_(without_signals([this] { run(); })) {}

UsageSampler::~UsageSampler() { stop(); }

void UsageSampler::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    samples_.push_back(reader_.read());
    if (samples_.size() >= kMostSamples) {
      for (size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
      samples_.resize((samples_.size() + 1) / 2);
      interval_ *= 2;
    }
    wake_.wait_for(lock, std::chrono::duration<double>(interval_), [&] { return stopping_; });
  }
  samples_.push_back(reader_.read());
}

std::vector<UsageSample> UsageSampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  return std::move(samples_);
}

}  // namespace hone::profile

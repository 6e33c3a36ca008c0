#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hone::profile {

/// What the process and its GPU used at one moment. A number that the system does not give is
/// absent.
struct UsageSample {
  double seconds = 0;  ///< time since the first sample
  uint64_t resident_bytes = 0;
  double processor_seconds = 0;               ///< sum over all threads
  double busy_cores = 0;                      ///< the average since the sample before
  std::optional<uint64_t> disk_bytes = {};    ///< read from and written to storage, in all
  std::optional<uint64_t> device_bytes = {};  ///< memory in use on the GPU, by all its users
  std::optional<double> device_busy = {};    ///< share of the last moments in which it ran a kernel
  std::optional<double> device_watts = {};   ///< power that it draws
  std::optional<double> device_joules = {};  ///< energy by its own counter, since it was started
  std::optional<double> processor_joules = {};  ///< energy of the processors' packages
};

/// A number of a sample by the name that files show it under.
struct UsageNumber {
  std::string_view name;
  std::optional<double> (*of)(const UsageSample&);
};
/// Lists all of them but the time.
const std::vector<UsageNumber>& usage_numbers();

/// Says which GPU is looked at, of several.
enum class WatchedGpu : uint8_t {
  own,      ///< the one that this process computes on, once it has selected it
  visible,  ///< the first that CUDA_VISIBLE_DEVICES leaves: what other processes compute on
};

/// Reads what is used now; two samples of one reader tell how busy the cores were in between.
class UsageReader {
 public:
  /// `root` is the folder that stands for "/"; `nvml` the library that knows NVIDIA's GPUs.
  explicit UsageReader(WatchedGpu gpu = WatchedGpu::visible, std::string root = "",
                       const char* nvml = "libnvidia-ml.so.1");
  ~UsageReader();
  UsageReader(const UsageReader&) = delete;
  UsageReader& operator=(const UsageReader&) = delete;

  UsageSample read();

 private:
  struct Gpu;
  struct Package {
    std::string file;
    uint64_t range;  ///< value at which the counter begins again, in microjoules
    uint64_t last;
    double joules;
  };
  void read_energy(UsageSample& sample);

  WatchedGpu watched_;
  std::string root_;
  std::unique_ptr<Gpu> gpu_;
  std::vector<Package> packages_;
  double begin_;
  double last_seconds_ = 0;
  double last_processor_ = 0;
};

/// Takes samples in a thread of its own, which no signal goes to. After many the interval doubles
/// and every other sample goes, so that a long run keeps a bounded number.
class UsageSampler {
 public:
  explicit UsageSampler(double interval_seconds, WatchedGpu gpu = WatchedGpu::visible);
  ~UsageSampler();
  UsageSampler(const UsageSampler&) = delete;
  UsageSampler& operator=(const UsageSampler&) = delete;

  /// Ends the thread and gives the samples.
  std::vector<UsageSample> stop();

 private:
  void run();

  static constexpr size_t kMostSamples = 2000;
  UsageReader reader_;
  double interval_;
  std::vector<UsageSample> samples_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;  ///< the last member: it uses the others
};

}  // namespace hone::profile

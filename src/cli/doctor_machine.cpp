#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/doctor_checks.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "profile/usage.h"
#include "train/budget.h"

namespace hone::cli {
namespace {

using Status = Check::Status;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Check check_instruction_sets() {
  std::vector<std::string> names;
  const std::vector<Isa> sets = available_isas();
  for (const Isa isa : sets) names.emplace_back(isa_name(isa));
  if (sets.empty()) return {"instruction set", Status::error, "the processor has no AVX2"};
  const Isa best = choose_isa(nullptr), used = chosen_isa();
  std::string evidence = fmt::format("{} of {}", isa_name(used), fmt::join(names, ", "));
  if (used == best) return {"instruction set", Status::ok, std::move(evidence)};
  return {"instruction set", Status::advice,
          evidence + fmt::format("; HONE_ISA keeps {} from being used", isa_name(best)),
          "unset HONE_ISA"};
}

Check check_processor_quota(const std::string& root) {
  const int usable = usable_cores(root);
  const auto present = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const std::string quota = first_line(root + "/sys/fs/cgroup/cpu.max");
  if (quota.empty() || quota.starts_with("max")) {
    return {"processors", Status::ok, fmt::format("{} of {} cores may be used", usable, present)};
  }
  double most = 0, period = 0;
  std::istringstream(quota) >> most >> period;
  const double cores = period > 0 ? most / period : 0;
  const std::string evidence = fmt::format(
      "a quota of {:.2f} cores of {}: threads are stopped when it is used up", cores, present);
  if (cores >= present) return {"processors", Status::ok, evidence};
  return {"processors", Status::advice, evidence, fmt::format("hone ... --threads {}", usable)};
}

/// Reads the times of all processors: those stolen by other guests, and all.
std::pair<double, double> stolen_and_all(const std::string& root) {
  std::ifstream file(root + "/proc/stat");
  std::string name;
  file >> name;
  double all = 0, stolen = 0;
  for (int i = 0; i < 8; ++i) {
    double value = 0;
    file >> value;
    all += value;
    if (i == 7) stolen = value;
  }
  return {stolen, all};
}

Check check_neighbours(const std::string& root) {
  const auto before = stolen_and_all(root);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto after = stolen_and_all(root);
  const double all = after.second - before.second;
  const double share = all > 0 ? (after.first - before.first) / all : 0;
  const std::string evidence =
      fmt::format("{:.1f}% of the processors' time went to other guests", 100 * share);
  if (share < 0.01) return {"neighbours", Status::ok, evidence};
  return {"neighbours", Status::advice, evidence + "; timings will vary by as much"};
}

Check check_memory() {
  const uint64_t available = train::available_memory();
  const std::string evidence =
      fmt::format("{:.1f} GB may be taken", static_cast<double>(available) / 1e9);
  constexpr uint64_t kLittle = 512'000'000;
  if (available >= kLittle) return {"memory", Status::ok, evidence};
  return {"memory", Status::advice, evidence, "hone predict ... --memory-budget 64MB"};
}

Check check_huge_pages(const std::string& root) {
  const std::string mode = first_line(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  if (mode.find("[never]") == std::string::npos) {
    return {"huge pages", Status::ok, mode.empty() ? "the system has no switch for them" : mode};
  }
  return {"huge pages", Status::advice, mode + ": large arrays lie in pages of 4 KB",
          "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
}

Check check_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t kFew = 1024;
  const std::string evidence = fmt::format("{} may be open", limit.rlim_cur);
  if (limit.rlim_cur >= kFew) return {"open files", Status::ok, evidence};
  return {"open files", Status::advice, evidence + "; a server needs one for each connection",
          "ulimit -n 65536"};
}

Check check_governor(const std::string& root) {
  const std::string name =
      first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (name != "powersave") {
    return {"clock", Status::ok, name.empty() ? "the system does not say" : name};
  }
  return {"clock", Status::advice, "the governor is powersave",
          "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"};
}

Check check_gpu() {
  const CudaInfo& info = cuda_info();
  if (!info.missing.empty()) {
    // A machine without a driver has no GPU to use; one with a driver was meant to.
    return {"GPU", info.driver > 0 ? Status::advice : Status::ok, "not used: " + info.missing};
  }
  std::vector<std::string> names;
  bool all = true;
  for (const CudaDevice& device : info.devices) {
    names.push_back(device.missing.empty() ? device.name : device.name + ": " + device.missing);
    all = all && device.missing.empty();
  }
  return {"GPU", all ? Status::ok : Status::advice, fmt::format("{}", fmt::join(names, ", "))};
}

Check check_counters(const std::string& root) {
  const profile::UsageSample sample =
      profile::UsageReader(profile::WatchedGpu::visible, root).read();
  return {
      "counters of energy", Status::ok,
      fmt::format("processor: {}; GPU: {}", sample.processor_joules ? "measured" : "not available",
                  sample.device_joules ? "measured" : "not available")};
}

}  // namespace

std::string_view status_name(Check::Status status) {
  return status == Status::ok ? "ok" : status == Status::advice ? "advice" : "error";
}

std::vector<Check> check_machine(const std::string& root) {
  return {
      check_instruction_sets(), check_processor_quota(root), check_neighbours(root), check_memory(),
      check_huge_pages(root),   check_open_files(),          check_governor(root),   check_gpu(),
      check_counters(root)};
}

std::vector<Check> check_disk(const std::string& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error) return {{"disk", Status::error, fmt::format("{}: {}", folder, error.message())}};
  constexpr double kLittleSpace = 2e9;
  std::vector<Check> checks;
  const auto left = static_cast<double>(space.available);
  const std::string evidence = fmt::format("{}: {:.1f} GB are free", folder, left / 1e9);
  checks.push_back({"disk space", left < kLittleSpace ? Status::advice : Status::ok, evidence,
                    left < kLittleSpace ? "hone train ... --save_total_limit 2" : ""});
  constexpr size_t kBytes = 32 << 20;
  constexpr double kSlow = 50e6;
  const std::string path = fmt::format("{}/.hone-doctor-{}", folder, ::getpid());
  try {
    const std::string bytes(kBytes, 'x');
    const Stopwatch watch;
    write_file(path, bytes);  // synced before it has its name
    const double rate = static_cast<double>(kBytes) / watch.seconds();
    std::filesystem::remove(path, error);
    const bool slow = rate < kSlow;
    checks.push_back({"disk speed", slow ? Status::advice : Status::ok,
                      fmt::format("{}: {:.0f} MB/s written and synced{}", folder, rate / 1e6,
                                  slow ? "; checkpoints will take long" : "")});
  } catch (const Error& failure) {
    checks.push_back({"disk speed", Status::error, failure.what()});
  }
  return checks;
}

}  // namespace hone::cli

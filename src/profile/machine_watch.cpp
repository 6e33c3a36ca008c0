#include "profile/machine_watch.h"

#include <fstream>

#include "device/cpu_info.h"

namespace hone::profile {
namespace {

/// Gives the control group's folder: in a container its own is the root of what it sees.
std::string group_folder(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    std::string folder = root + "/sys/fs/cgroup" + line.substr(3);
    if (std::ifstream(folder + "/cpu.stat")) return folder;
  }
  return root + "/sys/fs/cgroup";
}

/// Gives the number behind a name in a file of names and numbers.
double named_number(const std::string& path, std::string_view wanted) {
  std::ifstream file(path);
  std::string name;
  for (double value = 0; file >> name >> value;) {
    if (name == wanted) return value;
  }
  return 0;
}

}  // namespace

MachineWatch::MachineWatch(std::string root) : root_(std::move(root)), begin_(read()) {}

MachineWatch::Times MachineWatch::read() const {
  Times times;
  std::ifstream file(root_ + "/proc/stat");
  std::string name;
  file >> name;
  constexpr int kSteal = 7;  // user, nice, system, idle, iowait, irq, softirq, steal
  double value = 0;
  for (int i = 0; i <= kSteal && file >> value; ++i) {
    times.all += value;
    if (i == kSteal) times.stolen = value;
  }
  times.throttled = named_number(group_folder(root_) + "/cpu.stat", "throttled_usec") * 1e-6;
  return times;
}

void MachineWatch::tell(Recorder& recorder) const {
  const Times now = read();
  const double all = now.all - begin_.all;
  recorder.set_fact("stolen_share", all > 0 ? (now.stolen - begin_.stolen) / all : 0);
  recorder.set_fact("throttled_s", now.throttled - begin_.throttled);
  recorder.set_fact("usable_cores", usable_cores(root_));
  const std::string group = group_folder(root_);
  double quota = 0, period = 0, limit = 0;
  std::ifstream(group + "/cpu.max") >> quota >> period;
  recorder.set_fact("quota_cores", period > 0 ? quota / period : 0);
  std::ifstream(group + "/memory.max") >> limit;
  recorder.set_fact("memory_limit", limit);
}

}  // namespace hone::profile

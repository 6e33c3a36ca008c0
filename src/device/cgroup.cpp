#include "device/cgroup.h"

#include <fstream>

namespace hone {
namespace {

bool lists(const std::string& controllers, const std::string& controller) {
  return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

}  // namespace

void visit_control_groups(const std::string& root, const std::string& controller,
                          FunctionRef<void(const std::string& folder, bool unified)> visit) {
  const std::string mounts = root + "/sys/fs/cgroup";
  const auto visit_chain = [&](const std::string& mount, std::string path, bool unified) {
    for (; path.size() > 1; path.resize(path.rfind('/'))) visit(mount + path, unified);
    visit(mount, unified);
  };
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/some/group"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (path.empty() || path.front() != '/') continue;
    if (controllers.empty()) {
      visit_chain(mounts, path, true);
      visit_chain(mounts + "/unified", path, true);
    } else if (lists(controllers, controller)) {
      visit_chain(mounts + "/" + controller, path, false);
      if (controllers != controller) visit_chain(mounts + "/" + controllers, path, false);
    }
  }
}

}  // namespace hone

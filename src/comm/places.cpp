#include "comm/places.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/version.h"
#include "comm/host_name.h"
#include "comm/leaders.h"
#include "comm/run_failed.h"

namespace hone::comm {

std::vector<int> Places::leaders() const {
  std::vector<int> first;
  for (const std::vector<int>& each : groups) first.push_back(each.front());
  return first;
}

int Places::group_of(int other) const {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (std::binary_search(groups[i].begin(), groups[i].end(), other)) return static_cast<int>(i);
  }
  fail(ErrorKind::internal, "rank {} is nowhere", other);
}

double start_time(double timeout) { return std::max(timeout, 60.); }

Origin origin_here() {
  // Containers of one machine may have one name; what they do not have is one space of processes.
  std::error_code ignored;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  return {host_name(), host_name() + " " + space};
}

std::vector<std::string> gather_over(Link& link, const std::string& own, double timeout) {
  std::vector<int> everyone(static_cast<size_t>(link.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  const Stopwatch watch;
  Leaders all(link, everyone, link.rank(), [&] {
    if (watch.seconds() < start_time(timeout)) return;
    throw RunFailed(fmt::format("rank {} on {} has waited {} s at the start for other ranks",
                                link.rank(), host_name(), start_time(timeout)),
                    true);
  });
  return all.gather(own);
}

Places find_places(Link& link, const Origin& origin, double timeout) {
  const Json own = {kVersion, origin.host, origin.machine};
  const std::vector<std::string> all = gather_over(link, own.dump(), timeout);
  Places places;
  places.rank = link.rank();
  std::vector<std::string> machines;
  std::string first_version;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Json told = parse_json(all[rank], "rank " + std::to_string(rank));
    places.hosts.push_back(told.at(1));
    const std::string version = told.at(0);
    if (rank == 0) first_version = version;
    if (version != first_version) {
      throw RunFailed(fmt::format("version: ranks differ: {} on rank 0 ({}), {} on rank {} ({})",
                                  quote(first_version), places.hosts[0], quote(version), rank,
                                  places.hosts.back()),
                      link.rank() == 0);
    }
    const std::string machine = told.at(2);
    const auto known = std::find(machines.begin(), machines.end(), machine);
    const auto group = static_cast<size_t>(known - machines.begin());
    if (known == machines.end()) {
      machines.push_back(machine);
      places.groups.emplace_back();
    }
    if (static_cast<int>(rank) == places.rank) {
      places.group = static_cast<int>(group);
      places.index = static_cast<int>(places.groups[group].size());
    }
    places.groups[group].push_back(static_cast<int>(rank));
  }
  return places;
}

}  // namespace hone::comm

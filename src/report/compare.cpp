#include "report/compare.h"

#include <map>

namespace hone::report {

DataTable side_by_side(const std::string& title, const std::vector<std::string>& names,
                       const std::vector<DataTable>& tables) {
  DataTable both{.title = title, .columns = {"name"}, .compares = true};
  both.columns.insert(both.columns.end(), names.begin(), names.end());
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < tables.size(); ++i) {
    for (const std::vector<std::string>& row : tables[i].rows) {
      const auto [at, fresh] = places.try_emplace(row[0], both.rows.size());
      if (fresh) both.rows.emplace_back(both.columns.size()).front() = row[0];
      both.rows[at->second][i + 1] = row[1];
    }
  }
  return both;
}

}  // namespace hone::report

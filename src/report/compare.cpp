#include "report/compare.h"

#include <map>

namespace hone::report {

namespace {

/// Many folders that share no name would make a table of the square of their size.
constexpr size_t kMostCells = 1'000'000;

}  // namespace

DataTable side_by_side(const std::string& title, const std::vector<std::string>& names,
                       const std::vector<DataTable>& tables) {
  DataTable both{.title = title, .columns = {"name"}, .compares = true};
  both.columns.insert(both.columns.end(), names.begin(), names.end());
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < tables.size(); ++i) {
    for (const std::vector<std::string>& row : tables[i].rows) {
      if ((both.rows.size() + 1) * both.columns.size() > kMostCells && !places.contains(row[0])) {
        continue;
      }
      const auto [at, fresh] = places.try_emplace(row[0], both.rows.size());
      if (fresh) both.rows.emplace_back(both.columns.size()).front() = row[0];
      both.rows[at->second][i + 1] = row[1];
    }
  }
  return both;
}

}  // namespace hone::report

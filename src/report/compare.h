#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace hone::report {

/// Puts tables of names and values beside one another, a column each; a name that one of them lacks
/// has an empty cell there.
DataTable side_by_side(const std::string& title, const std::vector<std::string>& names,
                       const std::vector<DataTable>& tables);

}  // namespace hone::report

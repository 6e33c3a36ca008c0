#pragma once

#include <string>

#include "base/function_ref.h"

namespace hone {

/// Calls `visit` with the folders of this process's control groups that may limit `controller`
/// ("cpu", "memory"), with all their ancestors': version 2's (`unified`) and version 1's. A folder
/// may not be there: in a container a group's path may be one of the host, which is not mounted
/// here, and the last folder, the mount itself, is then the container's own group. `root` is the
/// folder that stands for "/".
void visit_control_groups(const std::string& root, const std::string& controller,
                          FunctionRef<void(const std::string& folder, bool unified)> visit);

}  // namespace hone

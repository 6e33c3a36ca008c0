// Every plan of this program is audited: a step that touches what it does not declare is an error.
#include "plan/runner.h"

namespace hone::models {
namespace {

[[maybe_unused]] const bool audited = [] {
  Runner::audit_all(true);
  return true;
}();

}  // namespace
}  // namespace hone::models

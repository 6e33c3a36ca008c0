// Every plan of a program that has this source is audited: a step that touches what it does not
// declare is an error.
#include "plan/runner.h"

namespace hone {
namespace {

[[maybe_unused]] const bool audited = [] {
  Runner::audit_all(true);
  return true;
}();

}  // namespace
}  // namespace hone

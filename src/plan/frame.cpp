#include "plan/frame.h"

#include <algorithm>

#include "base/error.h"

namespace hone {
namespace {

[[noreturn]] void undeclared(const Step& step, const char* what, int32_t id) {
  fail(ErrorKind::internal, "{}: {}: touches {} {}, which it does not declare", step.scope,
       step.name, what, id);
}

bool lists(const std::vector<Value>& values, Value value) {
  return std::any_of(values.begin(), values.end(),
                     [&](const Value& each) { return each.id == value.id; });
}

bool lists(const std::vector<Weight>& weights, const Weight& weight) {
  return std::any_of(weights.begin(), weights.end(),
                     [&](const Weight& each) { return each.slot == weight.slot; });
}

}  // namespace

void Frame::audit(Value value) const {
  if (!lists(audited_->reads, value) && !lists(audited_->writes, value)) {
    undeclared(*audited_, "value", value.id);
  }
}

void Frame::audit_weight(const Weight& weight) const {
  const bool rows =
      std::any_of(audited_->tables.begin(), audited_->tables.end(),
                  [&](const TableRows& each) { return each.table.slot == weight.slot; });
  if (!rows && !lists(audited_->weights, weight) && !lists(audited_->state, weight)) {
    undeclared(*audited_, "weight", weight.slot);
  }
}

void Frame::audit_state(const Weight& weight) const {
  if (!lists(audited_->state, weight)) undeclared(*audited_, "state", weight.slot);
}

void Frame::audit_gradient(const Weight& weight) const {
  if (!lists(audited_->gradients, weight)) undeclared(*audited_, "gradient", weight.slot);
}

}  // namespace hone

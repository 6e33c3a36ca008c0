#include "plan/run_sink.h"

#include <algorithm>

namespace hone {

void OpTimes::on_step(const StepEvent& event) {
  const Step& step = event.step;
  const std::string name =
      by_layer_ && !step.scope.empty() ? step.scope + ": " + std::string(step.name) : step.name;
  auto it = std::find_if(list_.begin(), list_.end(),
                         [&](const OpTime& time) { return time.name == name; });
  if (it == list_.end()) it = list_.insert(list_.end(), OpTime{name});
  ++it->calls;
  it->seconds += event.seconds;
  if (step.flops) it->flops += step.flops(event.extents);
  it->bytes += event.plan.bytes_moved(step, event.extents);
}

}  // namespace hone

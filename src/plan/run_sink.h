#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace hone {

/// A step that has run.
struct StepEvent {
  const Plan& plan;
  const Step& step;
  const Extents& extents;
  double begin;    ///< seconds since the run began, by the device's clock
  double seconds;  ///< duration
};

/// Hears of the steps of the runs of a Runner. While one listens, steps run one by one.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void on_step(const StepEvent& event) = 0;
};

/// Time spent under one op's name.
struct OpTime {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

/// Sums up steps by the names of their ops, or by those and their layers.
class OpTimes : public RunSink {
 public:
  explicit OpTimes(bool by_layer = false) : by_layer_(by_layer) {}
  void on_step(const StepEvent& event) override;
  const std::vector<OpTime>& list() const { return list_; }

 private:
  bool by_layer_;
  std::vector<OpTime> list_;
};

}  // namespace hone

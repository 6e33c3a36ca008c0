#include "plan/axes.h"

#include "base/error.h"

namespace hone {

void Axes::count(Axis axis, std::string name, Round round) {
  rules_.push_back({axis, std::move(name), std::move(round), {}});
}

void Axes::derived(Axis axis, std::string name, Derive derive) {
  rules_.push_back({axis, std::move(name), {}, std::move(derive)});
}

Extents Axes::complete(Extents batch) const {
  for (const Rule& rule : rules_) {
    if (rule.derive) batch[rule.axis] = rule.derive(batch);
  }
  return batch;
}

Extents Axes::bucket(const Extents& batch) const {
  Extents bucket = batch;
  for (const Rule& rule : rules_) {
    if (rule.derive) bucket[rule.axis] = rule.derive(bucket);
    if (rule.round) bucket[rule.axis] = rule.round(batch, bucket);
    if (bucket[rule.axis] < batch[rule.axis]) {
      fail(ErrorKind::internal, "axis {}: a bucket of {} for a batch of {}", rule.name,
           bucket[rule.axis], batch[rule.axis]);
    }
  }
  return bucket;
}

}  // namespace hone

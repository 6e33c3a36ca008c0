#include "plan/plan.h"

#include <algorithm>
#include <iterator>

namespace hone {

Value Plan::append(DType dtype, Axis rows, int64_t width, bool external) {
  const Value value{static_cast<int32_t>(entries_.size()), dtype, rows, width};
  Entry entry;
  entry.value = value;
  entry.external = external;
  entries_.push_back(std::move(entry));
  return value;
}

Value Plan::input(DType dtype, Axis rows, int64_t width, Filler filler) {
  const Value value = append(dtype, rows, width, true);
  entries_.back().filler = filler;
  return value;
}

Value Plan::resident(DType dtype, Axis rows, int64_t width) {
  const Value value = append(dtype, rows, width, true);
  entries_.back().resident = true;
  return value;
}

Value Plan::constant(std::vector<float> values) {
  const Value value = append(DType::f32, Axis::one, static_cast<int64_t>(values.size()), true);
  entries_.back().constant = std::move(values);
  return value;
}

Value Plan::temporary(std::function<size_t(const Extents&)> bytes) {
  const Value value = append(DType::u8, Axis::one, 0, false);
  entries_.back().bytes = std::move(bytes);
  return value;
}

size_t Plan::bytes_of(const Entry& entry, const Extents& extents) const {
  if (entry.bytes) return entry.bytes(extents);
  const Value& value = entry.value;
  const DType held = gpu() ? value.dtype : held_in(value.dtype);
  return static_cast<size_t>(extents[value.rows] * value.width) * dtype_size(held);
}

Value Plan::temporary(DType dtype, Axis rows, int64_t width) {
  return append(dtype, rows, width, false);
}

void Plan::keep(Value value) { entries_[static_cast<size_t>(value.id)].kept = true; }

Plan::Entry& Plan::original(Value value) {
  Entry& entry = entries_[static_cast<size_t>(value.id)];
  return entry.original < 0 ? entry : entries_[static_cast<size_t>(entry.original)];
}

void Plan::touch(const Step& step, int32_t index) {
  for (const auto* values : {&step.reads, &step.writes}) {
    for (const Value& value : *values) {
      Entry& entry = original(value);
      if (entry.first < 0) entry.first = index;
      entry.last = std::max(entry.last, index);
    }
  }
}

void Plan::add(Step step) {
  step.scope = scope_;
  std::erase_if(step.weights, [](const Weight& weight) { return !weight.present(); });
  std::erase_if(step.tables, [](const TableRows& rows) { return !rows.table.present(); });
  touch(step, static_cast<int32_t>(steps_.size()));
  steps_.push_back(std::move(step));
}

void Plan::on_write(DType dtype, std::function<void(const Frame&, Value)> run) {
  written_dtype_ = dtype;
  on_write_ = std::move(run);
}

void Plan::alias(Value copy, Value original) {
  entries_[static_cast<size_t>(copy.id)].original = this->original(original).value.id;
}

size_t Plan::prune(size_t count) {
  std::vector<bool> read(entries_.size());
  for (const Entry& entry : entries_) read[static_cast<size_t>(entry.value.id)] = entry.kept;
  std::vector<Step> live;
  size_t left = 0;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const bool wanted = std::any_of(step->writes.begin(), step->writes.end(), [&](Value value) {
      return read[static_cast<size_t>(value.id)];
    });
    if (!wanted && !step->trains() && !step->writes.empty()) continue;
    for (const Value& value : step->reads) {
      read[static_cast<size_t>(original(value).value.id)] = true;
    }
    live.push_back(std::move(*step));
    if (std::distance(step, steps_.rend()) <= static_cast<ptrdiff_t>(count)) ++left;
  }
  steps_.assign(std::make_move_iterator(live.rbegin()), std::make_move_iterator(live.rend()));
  for (Entry& entry : entries_) entry.first = entry.last = -1;
  for (size_t i = 0; i < steps_.size(); ++i) touch(steps_[i], static_cast<int32_t>(i));
  return left;
}

double Plan::flops(const Extents& extents) const {
  const Extents whole = complete(extents);
  double total = 0;
  for (const Step& step : steps_) {
    if (step.flops) total += step.flops(whole);
  }
  return total;
}

double Plan::bytes_moved(const Step& step, const Extents& extents) const {
  double bytes = 0;
  for (const auto* values : {&step.reads, &step.writes}) {
    for (const Value& value : *values) {
      const Entry& entry = entries_[static_cast<size_t>(value.id)];
      bytes += static_cast<double>(bytes_of(entry, extents));
    }
  }
  const auto whole = [](const Weight& weight, DType dtype) {
    return static_cast<double>(weight.rows * weight.width) * static_cast<double>(dtype_size(dtype));
  };
  const auto rows = [&](const TableRows& some, DType dtype) {
    return static_cast<double>(extents[some.indices.rows] * some.table.width) *
           static_cast<double>(dtype_size(dtype));
  };
  const auto same = [](const Weight& a, const Weight& b) {
    return a.slot == b.slot && a.offset == b.offset;
  };
  for (const Weight& weight : step.weights) bytes += whole(weight, weight.dtype);
  for (const TableRows& some : step.tables) bytes += rows(some, some.table.dtype);
  for (const Weight& weight : step.state) bytes += 2 * whole(weight, DType::f32);
  for (const Weight& weight : step.gradients) {
    const bool sets = std::any_of(step.sets.begin(), step.sets.end(),
                                  [&](const Weight& other) { return same(weight, other); });
    const auto touched =
        std::find_if(step.touches.begin(), step.touches.end(),
                     [&](const TableRows& some) { return same(some.table, weight); });
    const double once =
        touched == step.touches.end() ? whole(weight, DType::f32) : rows(*touched, DType::f32);
    bytes += sets ? once : 2 * once;
  }
  return bytes;
}

std::vector<size_t> Plan::gradients_final_after() const {
  std::vector<size_t> after;
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const Weight& weight : steps_[i].gradients) {
      const auto slot = static_cast<size_t>(weight.slot);
      if (slot >= after.size()) after.resize(slot + 1);
      after[slot] = i + 1;
    }
  }
  return after;
}

}  // namespace hone

#include "data/batch.h"

#include <algorithm>

#include "base/error.h"

namespace hone::data {

void Batch::set_layout(std::shared_ptr<const BatchLayout> layout) {
  layout_ = std::move(layout);
  arrays_.resize(layout_->inputs.size());
  last_.resize(layout_->inputs.size());
  clear();
}

void Batch::clear() {
  count_ = 0;
  units = 0;
  longest_ = 0;
  for (std::vector<std::byte>& array : arrays_) array.clear();
  for (const Axis axis : layout_->axes) starts_[static_cast<size_t>(axis)].assign(1, 0);
}

void Batch::add(std::span<const int64_t> counts) {
  std::array<int64_t, kMaxAxes> by_axis{};
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto axis = static_cast<size_t>(layout_->axes[i]);
    by_axis[axis] = counts[i];
    const int64_t total = starts_[axis].back() + counts[i];
    if (total > INT32_MAX) fail(ErrorKind::usage, "a batch of {} samples is too large", count_ + 1);
    starts_[axis].push_back(static_cast<int32_t>(total));
  }
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const InputSpec& input = layout_->inputs[i];
    last_[i] = arrays_[i].size();
    if (input.role == InputSpec::Role::offsets) continue;
    const auto elements =
        static_cast<size_t>(by_axis[static_cast<size_t>(input.axis)] * input.width);
    arrays_[i].resize(last_[i] + elements * dtype_size(input.dtype));
  }
  longest_ = std::max(longest_, by_axis[static_cast<size_t>(layout_->longest_of)]);
  ++count_;
}

Extents Batch::extents() const {
  Extents extents;
  for (const Axis axis : layout_->axes) extents[axis] = rows(axis);
  if (layout_->longest != Axis::one) extents[layout_->longest] = longest_;
  return extents;
}

const void* Batch::data(size_t input) const {
  const InputSpec& spec = layout_->inputs[input];
  if (spec.role == InputSpec::Role::offsets) return starts_[static_cast<size_t>(spec.of)].data();
  return arrays_[input].data();
}

Batch Batch::subset(std::span<const int64_t> kept) const {
  Batch out(layout_);
  std::vector<int64_t> counts(layout_->axes.size());
  for (const int64_t sample : kept) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = rows(layout_->axes[i], sample);
    out.add(counts);
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const InputSpec& input = layout_->inputs[i];
      if (input.role == InputSpec::Role::offsets) continue;
      const size_t row = static_cast<size_t>(input.width) * dtype_size(input.dtype);
      const size_t bytes = static_cast<size_t>(rows(input.axis, sample)) * row;
      std::byte* to = out.arrays_[i].data() + out.last_[i];
      std::copy_n(arrays_[i].data() + static_cast<size_t>(first(input.axis, sample)) * row, bytes,
                  to);
      if (input.role != InputSpec::Role::indices) continue;
      const auto moved =
          static_cast<int32_t>(out.first(input.of, out.count_ - 1) - first(input.of, sample));
      for (int32_t& index : out.last<int32_t>(i)) index += moved;
    }
  }
  return out;
}

}  // namespace hone::data

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/sampler.h"
#include "plan/plan.h"

namespace hone::data {

/// An array that a model's plans read of a batch.
struct InputSpec {
  enum class Role : uint8_t {
    rows,     ///< what it holds belongs to the samples, and goes where they go
    offsets,  ///< int32: where each sample's rows of `of` begin; one more than there are samples
    indices,  ///< int32 rows of `of`
  };
  std::string name;
  DType dtype = DType::f32;
  Axis axis = Axis::one;
  int64_t width = 1;
  Filler filler = Filler::zero;
  Role role = Role::rows;
  Axis of = Axis::one;
};

/// Says what the batches of one kind of sample are made of.
struct BatchLayout {
  std::vector<InputSpec> inputs;
  std::vector<Axis> axes;    ///< the axes that each sample has rows of
  Axis longest = Axis::one;  ///< the size of the largest sample on `longest_of`; one: none
  Axis longest_of = Axis::one;
  /// Gives the sizes of a batch of so many samples and units (tokens, pixels), of which no sample
  /// has more than `longest`.
  std::function<Extents(int64_t samples, int64_t units, int64_t longest)> extents;
};

/// Samples packed one behind the other: nothing is stored or computed for padding. The one batch
/// type of all models: what a sample is made of, its layout says. Storage is used again.
class Batch {
 public:
  Batch() = default;
  explicit Batch(std::shared_ptr<const BatchLayout> layout) { set_layout(std::move(layout)); }

  DataPosition begin = {};
  DataPosition end = {};  ///< the next batch begins here; behind an epoch's last, in the next
  std::vector<int64_t> samples = {};  ///< indices in the data: the global sample of random keys
  /// The samples of the batch of which this one is a share; empty where it is all of it.
  std::vector<int64_t> whole = {};
  int64_t units = 0;  ///< tokens, pixels: what the processor counts
  /// Labels that are classes lie here, one a sample; scores and flags lie in `targets`, as many a
  /// sample as there are outputs.
  std::vector<int32_t> classes = {};
  std::vector<float> targets = {};

  void set_layout(std::shared_ptr<const BatchLayout> layout);
  const BatchLayout& layout() const { return *layout_; }
  /// Forgets the samples' contents, not which ones they are.
  void clear();
  /// Makes room for one more sample: `counts` are its rows by axis of the layout. last() is then
  /// where its part of an input goes.
  void add(std::span<const int64_t> counts);
  template <typename T>
  std::span<T> last(size_t input) {
    std::vector<std::byte>& bytes = arrays_[input];
    return {reinterpret_cast<T*>(bytes.data() + last_[input]),
            (bytes.size() - last_[input]) / sizeof(T)};
  }

  int64_t size() const { return count_; }
  /// Gives the samples of all shares together.
  const std::vector<int64_t>& all() const { return whole.empty() ? samples : whole; }
  bool ends_epoch() const { return end.epoch > begin.epoch; }
  /// Gives where a sample's rows of an axis begin.
  int64_t first(Axis axis, int64_t sample) const {
    return starts_[static_cast<size_t>(axis)][static_cast<size_t>(sample)];
  }
  int64_t rows(Axis axis) const { return starts_[static_cast<size_t>(axis)].back(); }
  int64_t rows(Axis axis, int64_t sample) const {
    return first(axis, sample + 1) - first(axis, sample);
  }
  Extents extents() const;
  /// Gives the whole of an input, as a plan reads it.
  const void* data(size_t input) const;
  template <typename T>
  std::span<const T> array(size_t input) const {
    return {reinterpret_cast<const T*>(arrays_[input].data()), arrays_[input].size() / sizeof(T)};
  }
  /// Gives some of the samples' contents, in this order; labels, positions and units are left out.
  Batch subset(std::span<const int64_t> kept) const;

 private:
  std::shared_ptr<const BatchLayout> layout_;
  int64_t count_ = 0;
  std::vector<std::vector<std::byte>> arrays_;  ///< by input
  std::vector<size_t> last_;                    ///< by input: where the last sample's part begins
  std::array<std::vector<int32_t>, kMaxAxes> starts_;  ///< by axis
  int64_t longest_ = 0;
};

}  // namespace hone::data

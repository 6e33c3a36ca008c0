#include "train/virtual_ranks.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace hone::train {
namespace {

constexpr size_t kChunk = size_t{1} << 18;  // elements that are combined together

void add_into(std::span<float> sum, std::span<const float> more) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

/// Gives the sum of a subtree; `find` gives those that some rank has.
template <typename Find>
std::vector<float> sum_of(const SliceRange& range, const Find& find) {
  const std::span<const float> held = find(range);
  if (!held.empty()) return {held.begin(), held.end()};
  std::vector<float> left = sum_of(SliceRange{range.begin, range.middle()}, find);
  add_into(left, sum_of(SliceRange{range.middle(), range.end}, find));
  return left;
}

}  // namespace

size_t SliceRange::middle() const { return begin + std::bit_floor(size() - 1); }

std::vector<SliceRange> subtrees(const SliceRange& tree, const SliceRange& part) {
  if (part.begin <= tree.begin && tree.end <= part.end) return {tree};
  if (tree.end <= part.begin || part.end <= tree.begin) return {};
  std::vector<SliceRange> found = subtrees({tree.begin, tree.middle()}, part);
  const std::vector<SliceRange> more = subtrees({tree.middle(), tree.end}, part);
  found.insert(found.end(), more.begin(), more.end());
  return found;
}

VirtualRanks::VirtualRanks(const Parts& parts) : Strategy(parts) {
  const Slices slices = slices_of(parts.options.parallel, parts.ranks);
  all_ = {0, slices.total};
  own_ = {slices.first, slices.first + slices.count};
  for (size_t begin = 0; begin < slices.total; begin += slices.count) {
    held_.push_back(subtrees(all_, {begin, begin + slices.count}));
  }
}

std::span<float> VirtualRanks::gradients() const {
  const GradientArray array = parts_.optimizer.gradient_array();
  return {static_cast<float*>(array.data), array.bytes / sizeof(float)};
}

void VirtualRanks::sum(const SliceRange& range, const Leaf& leaf) {
  if (range.size() == 1) return leaf(range.begin);
  sum({range.begin, range.middle()}, leaf);
  const std::vector<float> left(gradients().begin(), gradients().end());
  parts_.optimizer.drop_gradients();
  sum({range.middle(), range.end}, leaf);
  add_into(gradients(), left);
}

void VirtualRanks::run(const std::vector<SliceBatches>& slices, size_t batches,
                       const StepState& state, const Done& done) {
  const auto leaf = [&](size_t slice) {
    run_slice(slices[slice - own_.begin], batches, state, done);
  };
  const auto& own = held_[static_cast<size_t>(parts_.ranks.rank())];
  // Ranks of one host are summed in the tree over them, which is the upper part of this one where
  // each has one subtree.
  const bool aligned =
      std::has_single_bit(own_.size()) && parts_.ranks.ranks_of_host() == parts_.ranks.size();
  std::vector<std::vector<float>> parts;
  for (const SliceRange& range : own) {
    sum(range, leaf);
    if (aligned || range == all_) continue;
    parts.emplace_back(gradients().begin(), gradients().end());
    parts_.optimizer.drop_gradients();
  }
  if (parts_.ranks.size() > 1) {
    bytes_ += gradients().size_bytes() * (aligned ? 1 : own.size());
    if (aligned) {
      parts_.ranks.sum(gradients());
    } else {
      combine(parts);
    }
  }
  // Every row of a table counts as touched from here on.
  const GradientArrays arrays = parts_.optimizer.gradients();
  for (const nn::Parameter& parameter : parts_.model.parameters().list()) {
    uint8_t* touched = arrays.touched[static_cast<size_t>(parameter.weight.slot)];
    if (touched) std::fill_n(touched, parameter.weight.rows, uint8_t{1});
  }
}

void VirtualRanks::combine(const std::vector<std::vector<float>>& parts) {
  const std::span<float> out = gradients();
  for (size_t at = 0; at < out.size(); at += kChunk) {
    const size_t count = std::min(kChunk, out.size() - at);
    std::string own;
    for (const std::vector<float>& part : parts) {
      own.append(reinterpret_cast<const char*>(part.data() + at), count * sizeof(float));
    }
    const std::vector<std::string> all = parts_.ranks.gather(own);
    const auto find = [&](const SliceRange& range) -> std::span<const float> {
      for (size_t rank = 0; rank < held_.size(); ++rank) {
        const auto found = std::find(held_[rank].begin(), held_[rank].end(), range);
        if (found == held_[rank].end()) continue;
        const auto index = static_cast<size_t>(found - held_[rank].begin());
        return {reinterpret_cast<const float*>(all[rank].data()) + index * count, count};
      }
      return {};
    };
    std::ranges::copy(sum_of(all_, find), out.begin() + static_cast<ptrdiff_t>(at));
  }
}

}  // namespace hone::train

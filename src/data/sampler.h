#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::data {

/// A shuffle of 0..size-1 as a pure function of (seed, epoch): where a position goes is computed
/// alone (a Feistel network over Philox, walked until it is inside), so that an epoch can be taken
/// up anywhere without replay.
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, uint64_t epoch);
  int64_t operator()(int64_t position) const;

 private:
  uint64_t size_;
  uint64_t seed_;
  uint64_t epoch_;
  int half_bits_;
};

/// Says where training is in its data: `index` samples of `epoch` have been used.
struct DataPosition {
  int64_t epoch = 0;
  int64_t index = 0;
  bool operator==(const DataPosition&) const = default;
};

struct SamplerOptions {
  uint64_t seed = 42;
  bool shuffle = true;
  /// Sorts runs of up to 50 batches, longest first, so that the sequences of a batch are alike.
  bool group_by_length = false;
  int64_t max_samples = 8;  ///< most samples of a batch; 0: no limit, then max_tokens is needed
  int64_t max_tokens = 0;   ///< most tokens of a batch; 0: no limit. A longer sample goes alone.
  /// Takes a random sample of so large a share, at least one, which only the seed and the share
  /// choose, so that every epoch has the same.
  double fraction = 1;
};

/// The order of samples and how it is cut into batches: a pure function of the options and the
/// lengths.
class Sampler {
 public:
  /// `lengths` (tokens of each sample, at least one sample) must outlive this.
  Sampler(std::span<const int32_t> lengths, const SamplerOptions& options);

  /// Counts the samples of an epoch.
  int64_t size() const { return size_; }
  /// Counts the tokens of these samples together.
  int64_t tokens(std::span<const int64_t> samples) const;
  /// Counts the batches of an epoch; the number differs between epochs only under a token budget.
  int64_t batches(int64_t epoch) const;

 private:
  friend class BatchCursor;
  void order_run(int64_t epoch, int64_t run, std::vector<int64_t>& samples) const;

  std::span<const int32_t> lengths_;
  SamplerOptions options_;
  int64_t size_;
  Permutation chosen_;  ///< its first size_ places are the samples that are taken
  int64_t run_size_;    ///< samples that are ordered, and perhaps sorted, together
};

/// Walks over the batches of one epoch after the other, from any position at which a batch begins.
class BatchCursor {
 public:
  /// `sampler` must outlive this. A position outside of the data is an error.
  BatchCursor(const Sampler& sampler, const DataPosition& begin);

  const DataPosition& position() const { return position_; }
  /// Gives the samples of the batch at position(), which then moves behind it. The last batch of an
  /// epoch may be smaller; no batch holds samples of two epochs.
  void next(std::vector<int64_t>& samples);

 private:
  int64_t sample_at(const DataPosition& at);

  const Sampler& sampler_;
  DataPosition position_;
  std::vector<int64_t> run_;
  DataPosition run_begin_{-1, 0};
};

}  // namespace hone::data

#include "data/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace hone::data {
namespace {

constexpr int64_t kBatchesSorted = 50;
constexpr int kRounds = 6;

/// The shuffle has a stream of its own among the uses of a run's seed.
constexpr uint64_t kShuffle = 0x73687566666c6500;
/// The choice of a share of the samples has another.
constexpr uint64_t kChoice = 0x63686f6963650000;

int64_t size_of_share(double fraction, size_t samples) {
  return std::max<int64_t>(std::llround(fraction * static_cast<double>(samples)), 1);
}

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t epoch)
    : size_(static_cast<uint64_t>(size)), seed_(seed ^ kShuffle), epoch_(epoch) {
  // The network has at most twice as many bits as needed; small sets get a wider one, which mixes
  // better.
  const int bits = std::bit_width(size_ > 0 ? size_ - 1 : 0);
  half_bits_ = std::max((bits + 1) / 2, 3);
}

int64_t Permutation::operator()(int64_t position) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<uint64_t>(position);
  do {
    uint64_t left = value >> half_bits_;
    uint64_t right = value & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const auto words = philox(seed_, epoch_, right << 8 | round);
      left ^= words[0] & mask;
      std::swap(left, right);
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

Sampler::Sampler(std::span<const int32_t> lengths, const SamplerOptions& options)
    : lengths_(lengths),
      options_(options),
      size_(size_of_share(options.fraction, lengths.size())),
      chosen_(static_cast<int64_t>(lengths.size()), options.seed ^ kChoice, 0) {
  if (!(options.fraction > 0 && options.fraction <= 1)) {
    fail(ErrorKind::usage, "fraction: expected more than 0 and at most 1, got {}",
         options.fraction);
  }
  if (options.max_samples <= 0 && options.max_tokens <= 0) {
    fail(ErrorKind::usage, "batches: expected a number of samples or of tokens, got none");
  }
  if (lengths.empty()) fail(ErrorKind::usage, "batches: no samples");
  int64_t batch = options.max_samples;
  if (batch <= 0) {
    const auto mean_over = static_cast<int64_t>(lengths.size());
    const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    batch = std::max<int64_t>(options.max_tokens / std::max<int64_t>(tokens / mean_over, 1), 1);
  }
  // An epoch has at least four runs, so that a small set is still shuffled, as Trainer does it.
  run_size_ = std::clamp<int64_t>(size() / 4 / std::min(batch, size()), 1, kBatchesSorted) *
              std::min(batch, size());
}

int64_t Sampler::tokens(std::span<const int64_t> samples) const {
  int64_t sum = 0;
  for (const int64_t sample : samples) sum += lengths_[static_cast<size_t>(sample)];
  return sum;
}

int64_t Sampler::batches(int64_t epoch) const {
  if (options_.max_tokens <= 0) return (size() - 1) / options_.max_samples + 1;
  BatchCursor cursor(*this, {epoch, 0});
  std::vector<int64_t> samples;
  int64_t count = 0;
  for (; cursor.position().epoch == epoch; ++count) cursor.next(samples);
  return count;
}

void Sampler::order_run(int64_t epoch, int64_t run, std::vector<int64_t>& samples) const {
  const Permutation permutation(size(), options_.seed, static_cast<uint64_t>(epoch));
  const int64_t begin = run * run_size_;
  const int64_t end = std::min(begin + run_size_, size());
  samples.clear();
  for (int64_t i = begin; i < end; ++i) {
    const int64_t place = options_.shuffle ? permutation(i) : i;
    samples.push_back(options_.fraction < 1 ? chosen_(place) : place);
  }
  if (!options_.group_by_length) return;
  std::stable_sort(samples.begin(), samples.end(), [this](int64_t a, int64_t b) {
    return lengths_[static_cast<size_t>(a)] > lengths_[static_cast<size_t>(b)];
  });
}

BatchCursor::BatchCursor(const Sampler& sampler, const DataPosition& begin)
    : sampler_(sampler), position_(begin) {
  if (begin.epoch < 0 || begin.index < 0 || begin.index >= sampler.size()) {
    fail(ErrorKind::usage, "data position: epoch {}, sample {} is outside of the {} samples",
         begin.epoch, begin.index, sampler.size());
  }
}

int64_t BatchCursor::sample_at(const DataPosition& at) {
  const int64_t begin = at.index - at.index % sampler_.run_size_;
  if (run_begin_ != DataPosition{at.epoch, begin}) {
    run_begin_ = {at.epoch, begin};
    sampler_.order_run(at.epoch, begin / sampler_.run_size_, run_);
  }
  return run_[static_cast<size_t>(at.index - begin)];
}

void BatchCursor::next(std::vector<int64_t>& samples) {
  const SamplerOptions& options = sampler_.options_;
  samples.clear();
  int64_t tokens = 0;
  while (position_.index < sampler_.size()) {
    const int64_t sample = sample_at(position_);
    tokens += sampler_.lengths_[static_cast<size_t>(sample)];
    if (options.max_tokens > 0 && tokens > options.max_tokens && !samples.empty()) return;
    samples.push_back(sample);
    ++position_.index;
    if (static_cast<int64_t>(samples.size()) == options.max_samples) break;
  }
  if (position_.index == sampler_.size()) position_ = {position_.epoch + 1, 0};
}

}  // namespace hone::data

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/errors.h"

namespace hone::serve {

class Counter {
 public:
  void add(uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

/// Counts values by upper bounds, without locks. A reader may see a value in its bucket that is not
/// in the sum yet.
class Histogram {
 public:
  /// `bounds` rise; a last bucket takes what is above them.
  explicit Histogram(std::vector<double> bounds);
  void record(double value);

  const std::vector<double>& bounds() const { return bounds_; }
  /// Gives the count of bucket i alone; i may be bounds().size().
  uint64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

/// 1e-5 * 1.5^k seconds for k = 1 to 35.
std::vector<double> duration_bounds();
/// 1, 2, 4, ... 65536.
std::vector<double> size_bounds();

/// How long requests took where.
struct DurationHistograms {
  Histogram total{duration_bounds()};
  Histogram tokenization{duration_bounds()};
  Histogram queue{duration_bounds()};
  Histogram inference{duration_bounds()};
};

/// What a model's inputs were computed for.
enum class Purpose { predict, embed, explain };
inline constexpr size_t kPurposes = 3;

/// Values that are asked for when metrics are read.
struct Gauges {
  int64_t queue_inputs = 0;
  int64_t queue_tokens = 0;
  int64_t computing_inputs = 0;
  int64_t connections = 0;
  int64_t models = 0;
};

/// All that a server counts. Any thread may write and read.
struct Metrics {
  std::array<Counter, 2> requests;   ///< by method: single, batch
  std::array<Counter, 2> successes;  ///< by method, too
  std::array<Counter, kFailures> failures;
  std::array<Counter, kPurposes> inputs;
  std::array<Counter, kPurposes> input_successes;
  DurationHistograms request;
  std::array<DurationHistograms, kPurposes> input;
  Histogram input_length{size_bounds()};
  Histogram batch_size{size_bounds()};
  Histogram batch_tokens{size_bounds()};
  Counter truncated;
  Counter log_lines_lost;
  std::array<Counter, 5> statuses;  ///< responses of 1xx to 5xx

  void count_status(int status);
  /// Prometheus' text format.
  std::string text(const Gauges& gauges) const;
};

}  // namespace hone::serve

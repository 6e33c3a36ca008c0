#include "serve/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone::serve {
namespace {

constexpr std::array<std::string_view, 2> kMethods = {"single", "batch"};
constexpr std::array<std::string_view, kPurposes> kPurposeNames = {"predict", "embed", "explain"};

class MetricsText {
 public:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    out_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  void value(std::string_view name, std::string_view labels, uint64_t count) {
    out_ += fmt::format("{}{} {}\n", name, labels, count);
  }
  void counter(std::string_view name, std::string_view help, const Counter& counter) {
    head(name, "counter", help);
    value(name, "", counter.value());
  }
  template <size_t N>
  void counters(std::string_view name, std::string_view help, std::string_view label,
                const std::array<std::string_view, N>& names,
                const std::array<Counter, N>& counters) {
    head(name, "counter", help);
    for (size_t i = 0; i < N; ++i) {
      value(name, fmt::format("{{{}=\"{}\"}}", label, names[i]), counters[i].value());
    }
  }
  void gauge(std::string_view name, std::string_view help, int64_t number) {
    head(name, "gauge", help);
    out_ += fmt::format("{} {}\n", name, number);
  }
  void histogram(const std::string& name, std::string_view help, const Histogram& histogram) {
    head(name, "histogram", help);
    uint64_t below = 0;
    for (size_t i = 0; i < histogram.bounds().size(); ++i) {
      below += histogram.count(i);
      value(name, fmt::format("_bucket{{le=\"{}\"}}", histogram.bounds()[i]), below);
    }
    below += histogram.count(histogram.bounds().size());
    value(name, "_bucket{le=\"+Inf\"}", below);
    out_ += fmt::format("{}_sum {}\n", name, histogram.sum());
    value(name, "_count", below);
  }
  void durations(const std::string& prefix, std::string_view what,
                 const DurationHistograms& durations) {
    histogram(prefix + "_duration", fmt::format("Seconds of {}.", what), durations.total);
    histogram(prefix + "_tokenization_duration",
              fmt::format("Seconds in which the texts of {} became tokens.", what),
              durations.tokenization);
    histogram(prefix + "_queue_duration", fmt::format("Seconds that {} waited.", what),
              durations.queue);
    histogram(prefix + "_inference_duration",
              fmt::format("Seconds in which {} was computed.", what), durations.inference);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::array<std::string_view, kFailures> failure_names() {
  std::array<std::string_view, kFailures> names;
  for (size_t i = 0; i < kFailures; ++i) names[i] = facts(static_cast<Failure>(i)).metric;
  return names;
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      counts_(std::make_unique<std::atomic<uint64_t>[]>(bounds_.size() + 1)) {}

void Histogram::record(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<double> duration_bounds() {
  constexpr int kBuckets = 35;
  std::vector<double> bounds;
  for (int k = 1; k <= kBuckets; ++k) bounds.push_back(1e-5 * std::pow(1.5, k));
  return bounds;
}

std::vector<double> size_bounds() {
  constexpr double kLargest = 65536;
  std::vector<double> bounds;
  for (double bound = 1; bound <= kLargest; bound *= 2) bounds.push_back(bound);
  return bounds;
}

void Metrics::count_status(int status) {
  statuses[static_cast<size_t>(std::clamp(status / 100, 1, 5) - 1)].add();
}

std::string Metrics::text(const Gauges& gauges) const {
  MetricsText text;
  text.counters("te_request_count", "Requests that ask a model.", "method", kMethods, requests);
  text.counters("te_request_success", "Requests that were answered.", "method", kMethods,
                successes);
  text.counters("te_request_failure", "Requests that were not answered as asked.", "err",
                failure_names(), failures);
  text.durations("te_request", "a request", request);
  for (size_t i = 0; i < kPurposes; ++i) {
    const std::string prefix = fmt::format("te_{}", kPurposeNames[i]);
    text.counter(prefix + "_count", "Inputs that were asked for.", inputs[i]);
    text.counter(prefix + "_success", "Inputs that were answered.", input_successes[i]);
    text.durations(prefix, "an input", input[i]);
  }
  text.histogram("te_request_input_length", "Tokens of an input.", input_length);
  text.histogram("te_batch_next_size", "Inputs of a batch.", batch_size);
  text.histogram("te_batch_next_tokens", "Tokens of a batch.", batch_tokens);
  text.gauge("te_queue_size", "Inputs that wait.", gauges.queue_inputs);
  text.gauge("hone_queue_tokens", "Tokens that wait, estimated.", gauges.queue_tokens);
  text.gauge("hone_computing_inputs", "Inputs that are computed.", gauges.computing_inputs);
  text.gauge("hone_connections", "Connections that are open.", gauges.connections);
  text.gauge("hone_models", "Models that are loaded.", gauges.models);
  text.counter("hone_late_total", "Requests whose time was over before they were computed.",
               failures[static_cast<size_t>(Failure::late)]);
  text.counter("hone_abandoned_total", "Requests whose client had gone before they were computed.",
               failures[static_cast<size_t>(Failure::abandoned)]);
  text.counter("hone_truncated_total", "Inputs that were cut.", truncated);
  text.counter("hone_log_lines_lost_total", "Log lines that nobody took in time.", log_lines_lost);
  text.counters<5>("hone_responses_total", "Responses by class of status.", "code",
                   {"1xx", "2xx", "3xx", "4xx", "5xx"}, statuses);
  return text.take();
}

}  // namespace hone::serve

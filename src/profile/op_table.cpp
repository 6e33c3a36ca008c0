#include "profile/op_table.h"

#include <algorithm>
#include <map>

namespace hone::profile {
namespace {

constexpr double kNano = 1e-9;

/// Rows under way, found by name and layer.
class Rows {
 public:
  explicit Rows(const Recorder& recorder, bool by_layer)
      : recorder_(recorder), by_layer_(by_layer) {}

  OpRow& of(const Event& event) {
    const std::string layer =
        by_layer_ && event.scope >= 0 ? recorder_.scope(event.scope) : std::string();
    OpRow& row = rows_[{layer, event.name}];
    row.name = event.name;
    row.layer = layer;
    row.op = event.op;
    ++row.calls;
    row.bytes += event.bytes;
    row.flops += event.flops;
    return row;
  }
  std::vector<OpRow> take() {
    std::vector<OpRow> list;
    for (auto& entry : rows_) list.push_back(std::move(entry.second));
    return list;
  }

 private:
  const Recorder& recorder_;
  bool by_layer_;
  std::map<std::pair<std::string, std::string>, OpRow> rows_;
};

const Track* device_track(const Recorder& recorder) {
  for (const auto& track : recorder.tracks()) {
    if (track->name == "device") return track.get();
  }
  return nullptr;
}

}  // namespace

double device_busy_seconds(const Recorder& recorder) {
  double seconds = 0;
  const Track* device = device_track(recorder);
  if (!device) return 0;
  for (const Event& event : device->events) seconds += static_cast<double>(event.self_ns) * kNano;
  return seconds;
}

std::vector<OpRow> op_table(const Recorder& recorder, bool by_layer) {
  Rows rows(recorder, by_layer);
  const Track* device = device_track(recorder);
  double named = 0;
  for (const Event& event : recorder.main_track().events) {
    if (!event.in_window) continue;
    OpRow& row = rows.of(event);
    const double self = static_cast<double>(event.self_ns) * kNano;
    row.self_seconds += self;
    row.total_seconds += static_cast<double>(event.end_ns - event.begin_ns) * kNano;
    named += self;
  }
  if (device) {
    for (const Event& event : device->events) {
      rows.of(event).device_seconds += static_cast<double>(event.self_ns) * kNano;
    }
  }
  std::vector<OpRow> list = rows.take();
  const double whole = device ? device_busy_seconds(recorder) : recorder.window_seconds();
  if (!device && whole > named) {
    const double rest = whole - named;
    list.push_back({.name = "unnamed", .self_seconds = rest, .total_seconds = rest});
  }
  const double divisor = device ? whole : std::max(whole, named);
  for (OpRow& row : list) {
    const double part = device ? row.device_seconds : row.self_seconds;
    row.share = divisor > 0 ? part / divisor : 0;
  }
  std::stable_sort(list.begin(), list.end(), [](const OpRow& a, const OpRow& b) {
    return a.share != b.share ? a.share > b.share : a.self_seconds > b.self_seconds;
  });
  return list;
}

std::vector<IdleGap> idle_gaps(const Recorder& recorder, double least) {
  std::vector<IdleGap> gaps;
  const Track* device = device_track(recorder);
  if (!device) return gaps;
  for (size_t i = 1; i < device->events.size(); ++i) {
    const int64_t begin = device->events[i - 1].end_ns;
    const int64_t end = device->events[i].begin_ns;
    if (static_cast<double>(end - begin) * kNano < least) continue;
    std::map<std::string_view, int64_t> causes;
    for (const Event& event : recorder.main_track().events) {
      const int64_t shared = std::min(event.end_ns, end) - std::max(event.begin_ns, begin);
      // An inner span says more than the one around it.
      if (shared > 0) causes[event.name] += shared * (event.depth + 1);
    }
    IdleGap gap{static_cast<double>(begin) * kNano, static_cast<double>(end - begin) * kNano,
                "unnamed"};
    int64_t most = 0;
    for (const auto& [name, shared] : causes) {
      if (shared > most) gap.cause = name;
      most = std::max(most, shared);
    }
    gaps.push_back(std::move(gap));
  }
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const IdleGap& a, const IdleGap& b) { return a.seconds > b.seconds; });
  return gaps;
}

}  // namespace hone::profile

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

/// Lists the threads that ran ops in the window: the main one, or those that serve requests.
std::vector<const Track*> computing_tracks(const Recorder& recorder) {
  std::vector<const Track*> tracks;
  for (const auto& track : recorder.tracks()) {
    if (track->name == "device") continue;
    const auto is_op = [](const Event& event) { return event.op && event.in_window; };
    if (std::ranges::any_of(track->events, is_op)) tracks.push_back(track.get());
  }
  if (tracks.empty()) tracks.push_back(&recorder.main_track());
  return tracks;
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
  const std::vector<const Track*> hosts = computing_tracks(recorder);
  for (const Track* host : hosts) {
    for (const Event& event : host->events) {
      if (!event.in_window) continue;
      OpRow& row = rows.of(event);
      const double self = static_cast<double>(event.self_ns) * kNano;
      row.self_seconds += self;
      row.total_seconds += static_cast<double>(event.end_ns - event.begin_ns) * kNano;
      named += self;
    }
  }
  if (device) {
    for (const Event& event : device->events) {
      rows.of(event).device_seconds += static_cast<double>(event.self_ns) * kNano;
    }
  }
  std::vector<OpRow> list = rows.take();
  const double window = recorder.window_seconds() * static_cast<double>(hosts.size());
  const double whole = device ? device_busy_seconds(recorder) : window;
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
  const Track* device = device_track(recorder);
  if (!device) return {};
  return idle_gaps(device->events, recorder.main_track().events, least);
}

std::vector<IdleGap> idle_gaps(std::span<const Event> device, std::span<const Event> host,
                               double least) {
  std::vector<const Event*> events;
  for (const Event& event : host) events.push_back(&event);
  std::ranges::sort(events, {}, &Event::begin_ns);
  auto next = events.begin();
  // Events stay here while they may reach into a gap: no more than are nested.
  std::vector<const Event*> reaching;
  std::vector<IdleGap> gaps;
  for (size_t i = 1; i < device.size(); ++i) {
    const int64_t begin = device[i - 1].end_ns;
    const int64_t end = device[i].begin_ns;
    if (static_cast<double>(end - begin) * kNano < least) continue;
    for (; next != events.end() && (*next)->begin_ns < end; ++next) reaching.push_back(*next);
    std::erase_if(reaching, [&](const Event* event) { return event->end_ns <= begin; });
    std::map<std::string_view, int64_t> causes;
    for (const Event* event : reaching) {
      const int64_t shared = std::min(event->end_ns, end) - std::max(event->begin_ns, begin);
      // An inner span says more than the one around it.
      causes[event->name] += shared * (event->depth + 1);
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

#include <unistd.h>

#include <cstring>
#include <map>

#include "base/file.h"
#include "profile/trace.h"

namespace hone::profile {
namespace {

/// A message of protocol buffers under way; fields are those of Perfetto's published schema.
class Message {
 public:
  void number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void real(uint32_t field, double value) {
    varint(field << 3 | 1);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
  }
  void bytes(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_ += value;
  }
  void message(uint32_t field, const Message& value) { bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

// TracePacket
constexpr uint32_t kPacket = 1, kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                   kSequenceFlags = 13, kTrackDescriptor = 60;
// TrackDescriptor, with ProcessDescriptor and ThreadDescriptor
constexpr uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8,
                   kPid = 1, kTid = 2, kThreadName = 5, kProcessName = 6;
// TrackEvent
constexpr uint32_t kDebug = 4, kType = 9, kNameIid = 10, kEventTrack = 11, kCounterValue = 44;
// DebugAnnotation, InternedData, EventName
constexpr uint32_t kDebugName = 10, kDebugReal = 5, kDebugText = 6, kEventNames = 2, kIid = 1,
                   kName = 2;
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kCounterType = 4;
constexpr uint64_t kClearsState = 1, kNeedsState = 2;
constexpr uint64_t kProcessUuid = 1, kFirstTrack = 2;

/// A trace file under way.
class Trace {
 public:
  explicit Trace(const std::string& path) : file_(path) {
    Message process, track, packet;
    process.number(kPid, static_cast<uint64_t>(::getpid()));
    process.bytes(kProcessName, "hone");
    track.number(kUuid, kProcessUuid);
    track.message(kProcess, process);
    packet.message(kTrackDescriptor, track);
    packet.number(kSequenceFlags, kClearsState);
    add(packet);
  }

  void thread_track(uint64_t uuid, const Track& track) {
    Message thread, descriptor, packet;
    descriptor.number(kUuid, uuid);
    descriptor.number(kParent, kProcessUuid);
    if (track.thread > 0) {
      thread.number(kPid, static_cast<uint64_t>(::getpid()));
      thread.number(kTid, static_cast<uint64_t>(track.thread));
      thread.bytes(kThreadName, track.name);
      descriptor.message(kThread, thread);
    } else {
      descriptor.bytes(kTrackName, track.name);
    }
    packet.message(kTrackDescriptor, descriptor);
    add(packet);
  }
  void counter_track(uint64_t uuid, std::string_view name) {
    Message descriptor, packet;
    descriptor.number(kUuid, uuid);
    descriptor.number(kParent, kProcessUuid);
    descriptor.bytes(kTrackName, name);
    descriptor.message(kCounter, {});
    packet.message(kTrackDescriptor, descriptor);
    add(packet);
  }
  void begin(uint64_t track, const Event& event, const Recorder& recorder) {
    Message slice, packet;
    slice.number(kType, kSliceBegin);
    slice.number(kEventTrack, track);
    const auto [name, fresh] = names_.try_emplace(event.name, names_.size() + 1);
    slice.number(kNameIid, name->second);
    if (event.scope >= 0) annotate(slice, "layer", recorder.scope(event.scope));
    if (event.flops > 0) annotate(slice, "GFLOP", event.flops * 1e-9);
    if (event.bytes > 0) annotate(slice, "MB", event.bytes * 1e-6);
    packet.number(kTimestamp, static_cast<uint64_t>(event.begin_ns));
    packet.number(kSequenceFlags, kNeedsState);
    if (fresh) {
      Message entry, interned;
      entry.number(kIid, name->second);
      entry.bytes(kName, event.name);
      interned.message(kEventNames, entry);
      packet.message(kInterned, interned);
    }
    packet.message(kTrackEvent, slice);
    add(packet);
  }
  void end(uint64_t track, int64_t at) {
    Message slice, packet;
    slice.number(kType, kSliceEnd);
    slice.number(kEventTrack, track);
    packet.number(kTimestamp, static_cast<uint64_t>(at));
    packet.message(kTrackEvent, slice);
    add(packet);
  }
  void count(uint64_t track, double seconds, double value) {
    Message counter, packet;
    counter.number(kType, kCounterType);
    counter.number(kEventTrack, track);
    counter.real(kCounterValue, value);
    packet.number(kTimestamp, static_cast<uint64_t>(seconds * 1e9));
    packet.message(kTrackEvent, counter);
    add(packet);
  }
  void commit() { file_.commit(); }

 private:
  template <typename T>
  static void annotate(Message& slice, std::string_view name, const T& value) {
    Message annotation;
    annotation.bytes(kDebugName, name);
    if constexpr (std::is_floating_point_v<T>) {
      annotation.real(kDebugReal, value);
    } else {
      annotation.bytes(kDebugText, value);
    }
    slice.message(kDebug, annotation);
  }
  void add(Message& packet) {
    packet.number(kSequence, 1);
    Message trace;
    trace.message(kPacket, packet);
    file_.write(trace.text().data(), trace.text().size());
  }

  OutputFile file_;
  std::map<std::string_view, uint64_t> names_;
};

/// Writes the events of a track in the order of their begins, each end before what begins later.
void write_events(Trace& trace, uint64_t uuid, const Track& track, const Recorder& recorder) {
  std::vector<const Event*> events;
  for (const Event& event : track.events) events.push_back(&event);
  std::stable_sort(events.begin(), events.end(), [](const Event* a, const Event* b) {
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->depth < b->depth;
  });
  std::vector<int64_t> ends;
  const auto close = [&](int64_t until) {
    while (!ends.empty() && ends.back() <= until) {
      trace.end(uuid, ends.back());
      ends.pop_back();
    }
  };
  for (const Event* event : events) {
    close(event->begin_ns);
    trace.begin(uuid, *event, recorder);
    ends.push_back(ends.empty() ? event->end_ns : std::min(event->end_ns, ends.back()));
  }
  close(INT64_MAX);
}

}  // namespace

void write_perfetto_trace(const std::string& path, const Recorder& recorder,
                          const std::vector<UsageSample>& samples) {
  Trace trace(path);
  uint64_t uuid = kFirstTrack;
  for (const auto& track : recorder.tracks()) {
    trace.thread_track(uuid, *track);
    write_events(trace, uuid++, *track, recorder);
  }
  for (const UsageNumber& number : usage_numbers()) {
    if (samples.empty() || !number.of(samples.back())) continue;
    trace.counter_track(uuid, number.name);
    for (const UsageSample& sample : samples) {
      if (const auto value = number.of(sample)) trace.count(uuid, sample.seconds, *value);
    }
    ++uuid;
  }
  trace.commit();
}

}  // namespace hone::profile

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

// TracePacket, TracePacketDefaults
constexpr uint32_t kPacket = 1, kClockSnapshot = 6, kTimestamp = 8, kSequence = 10,
                   kTrackEvent = 11, kInterned = 12, kSequenceFlags = 13, kTimestampClock = 58,
                   kDefaults = 59, kTrackDescriptor = 60, kTrackEventDefaults = 11;
// ClockSnapshot, Clock
constexpr uint32_t kClocks = 1, kClockId = 1, kClockTime = 2, kIsIncremental = 3;
// TrackDescriptor, with ProcessDescriptor and ThreadDescriptor
constexpr uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8,
                   kPid = 1, kTid = 2, kThreadName = 5, kProcessName = 6;
// TrackEvent
constexpr uint32_t kDebug = 4, kType = 9, kNameIid = 10, kEventTrack = 11, kCounterValue = 44;
// DebugAnnotation
constexpr uint32_t kDebugNameIid = 1, kDebugNumber = 3, kDebugTextIid = 17;
// InternedData; EventName, DebugAnnotationName and InternedString have the same fields.
constexpr uint32_t kEventNames = 2, kDebugNames = 3, kDebugTexts = 29, kIid = 1, kText = 2;
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kCounterType = 4;
constexpr uint64_t kClearsState = 1, kNeedsState = 2;
constexpr uint64_t kBootTime = 6,
                   kSinceLastPacket = 64;  ///< clocks; the latter is a sequence's own
constexpr uint64_t kProcessUuid = 1, kFirstTrack = 2;

/// A trace file under way.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path) : file_(path) {}
  void add(Message& packet, uint64_t sequence) {
    packet.number(kSequence, sequence);
    Message trace;
    trace.message(kPacket, packet);
    file_.write(trace.text().data(), trace.text().size());
  }
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
};

/// Texts of a sequence of packets, which bring each along once and name it by number from then on.
class Interned {
 public:
  explicit Interned(uint32_t field) : field_(field) {}
  /// Gives a text's number; a new one goes into `fresh`. The text must outlive this.
  uint64_t number(std::string_view text, Message& fresh) {
    const auto [known, is_new] = numbers_.try_emplace(text, numbers_.size() + 1);
    if (is_new) {
      Message entry;
      entry.number(kIid, known->second);
      entry.bytes(kText, text);
      fresh.message(field_, entry);
    }
    return known->second;
  }

 private:
  uint32_t field_;
  std::map<std::string_view, uint64_t> numbers_;
};

/// The slices of one track: a sequence of packets of its own, so that none has to name the track,
/// and each says the time since the one before.
class Slices {
 public:
  Slices(TraceFile& file, uint64_t track) : file_(file), sequence_(track) {
    Message absolute, own, clocks, event_defaults, defaults, packet;
    absolute.number(kClockId, kBootTime);
    absolute.number(kClockTime, 0);
    own.number(kClockId, kSinceLastPacket);
    own.number(kClockTime, 0);
    own.number(kIsIncremental, 1);
    clocks.message(kClocks, absolute);
    clocks.message(kClocks, own);
    event_defaults.number(kEventTrack, track);
    defaults.number(kTimestampClock, kSinceLastPacket);
    defaults.message(kTrackEventDefaults, event_defaults);
    packet.message(kClockSnapshot, clocks);
    packet.number(kSequenceFlags, kClearsState);
    packet.message(kDefaults, defaults);
    file_.add(packet, sequence_);
  }

  void begin(const Event& event, const Recorder& recorder) {
    Message slice, fresh;
    slice.number(kType, kSliceBegin);
    slice.number(kNameIid, names_.number(event.name, fresh));
    const auto annotate = [&](std::string_view name, uint32_t field, uint64_t value) {
      Message annotation;
      annotation.number(kDebugNameIid, debug_names_.number(name, fresh));
      annotation.number(field, value);
      slice.message(kDebug, annotation);
    };
    if (event.scope >= 0) {
      annotate("layer", kDebugTextIid, debug_texts_.number(recorder.scope(event.scope), fresh));
    }
    if (event.flops >= 1) annotate("FLOP", kDebugNumber, static_cast<uint64_t>(event.flops));
    if (event.bytes >= 1) annotate("bytes", kDebugNumber, static_cast<uint64_t>(event.bytes));
    add(slice, event.begin_ns, fresh);
  }
  void end(int64_t at) {
    Message slice;
    slice.number(kType, kSliceEnd);
    add(slice, at, {});
  }

 private:
  void add(const Message& slice, int64_t at, const Message& fresh) {
    Message packet;
    packet.number(kTimestamp, static_cast<uint64_t>(at - last_));
    last_ = at;
    packet.number(kSequenceFlags, kNeedsState);
    if (!fresh.text().empty()) packet.message(kInterned, fresh);
    packet.message(kTrackEvent, slice);
    file_.add(packet, sequence_);
  }

  TraceFile& file_;
  uint64_t sequence_;
  int64_t last_ = 0;
  Interned names_{kEventNames}, debug_names_{kDebugNames}, debug_texts_{kDebugTexts};
};

void describe_process(TraceFile& file) {
  Message process, track, packet;
  process.number(kPid, static_cast<uint64_t>(::getpid()));
  process.bytes(kProcessName, "hone");
  track.number(kUuid, kProcessUuid);
  track.message(kProcess, process);
  packet.message(kTrackDescriptor, track);
  packet.number(kSequenceFlags, kClearsState);
  file.add(packet, kProcessUuid);
}

void describe_thread(TraceFile& file, uint64_t uuid, const Track& track) {
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
  file.add(packet, kProcessUuid);
}

void describe_counter(TraceFile& file, uint64_t uuid, std::string_view name) {
  Message descriptor, packet;
  descriptor.number(kUuid, uuid);
  descriptor.number(kParent, kProcessUuid);
  descriptor.bytes(kTrackName, name);
  descriptor.message(kCounter, {});
  packet.message(kTrackDescriptor, descriptor);
  file.add(packet, kProcessUuid);
}

void count(TraceFile& file, uint64_t track, double seconds, double value) {
  Message counter, packet;
  counter.number(kType, kCounterType);
  counter.number(kEventTrack, track);
  counter.real(kCounterValue, value);
  packet.number(kTimestamp, static_cast<uint64_t>(seconds * 1e9));
  packet.message(kTrackEvent, counter);
  file.add(packet, kProcessUuid);
}

/// Writes the events of a track in the order of their begins, each end before what begins later.
void write_slices(TraceFile& file, uint64_t uuid, const Track& track, const Recorder& recorder) {
  std::vector<const Event*> events;
  for (const Event& event : track.events) events.push_back(&event);
  std::stable_sort(events.begin(), events.end(), [](const Event* a, const Event* b) {
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->depth < b->depth;
  });
  Slices slices(file, uuid);
  std::vector<int64_t> ends;
  const auto close = [&](int64_t until) {
    while (!ends.empty() && ends.back() <= until) {
      slices.end(ends.back());
      ends.pop_back();
    }
  };
  for (const Event* event : events) {
    close(event->begin_ns);
    slices.begin(*event, recorder);
    ends.push_back(ends.empty() ? event->end_ns : std::min(event->end_ns, ends.back()));
  }
  close(INT64_MAX);
}

}  // namespace

void write_perfetto_trace(const std::string& path, const Recorder& recorder,
                          const std::vector<UsageSample>& samples) {
  TraceFile file(path);
  describe_process(file);
  uint64_t uuid = kFirstTrack;
  for (const auto& track : recorder.tracks()) {
    describe_thread(file, uuid, *track);
    write_slices(file, uuid++, *track, recorder);
  }
  for (const UsageNumber& number : usage_numbers()) {
    if (samples.empty() || !number.of(samples.back())) continue;
    describe_counter(file, uuid, number.name);
    for (const UsageSample& sample : samples) {
      if (const auto value = number.of(sample)) count(file, uuid, sample.seconds, *value);
    }
    ++uuid;
  }
  file.commit();
}

}  // namespace hone::profile

#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hone::profile {

/// What a field of Perfetto's published schema holds.
enum class Wire { number, real, text, message };
struct SchemaField {
  Wire wire;
  const char* message = "";
};
using Schema = std::map<std::string, std::map<uint64_t, SchemaField>>;

/// The part of perfetto_trace.proto that traces of hone may use, by message and field.
inline const Schema& perfetto_schema() {
  static const Schema schema = {
      {"Trace", {{1, {Wire::message, "TracePacket"}}}},
      {"TracePacket",
       {{6, {Wire::message, "ClockSnapshot"}},
        {8, {Wire::number}},
        {10, {Wire::number}},
        {11, {Wire::message, "TrackEvent"}},
        {12, {Wire::message, "InternedData"}},
        {13, {Wire::number}},
        {58, {Wire::number}},
        {59, {Wire::message, "TracePacketDefaults"}},
        {60, {Wire::message, "TrackDescriptor"}}}},
      {"ClockSnapshot", {{1, {Wire::message, "Clock"}}, {2, {Wire::number}}}},
      {"Clock",
       {{1, {Wire::number}}, {2, {Wire::number}}, {3, {Wire::number}}, {4, {Wire::number}}}},
      {"TracePacketDefaults", {{58, {Wire::number}}, {11, {Wire::message, "TrackEventDefaults"}}}},
      {"TrackEventDefaults", {{11, {Wire::number}}}},
      {"TrackDescriptor",
       {{1, {Wire::number}},
        {2, {Wire::text}},
        {3, {Wire::message, "ProcessDescriptor"}},
        {4, {Wire::message, "ThreadDescriptor"}},
        {5, {Wire::number}},
        {8, {Wire::message, "CounterDescriptor"}}}},
      {"ProcessDescriptor", {{1, {Wire::number}}, {6, {Wire::text}}}},
      {"ThreadDescriptor", {{1, {Wire::number}}, {2, {Wire::number}}, {5, {Wire::text}}}},
      {"CounterDescriptor", {}},
      {"TrackEvent",
       {{4, {Wire::message, "DebugAnnotation"}},
        {9, {Wire::number}},
        {10, {Wire::number}},
        {11, {Wire::number}},
        {23, {Wire::text}},
        {30, {Wire::number}},
        {44, {Wire::real}}}},
      {"DebugAnnotation",
       {{1, {Wire::number}},
        {3, {Wire::number}},
        {5, {Wire::real}},
        {6, {Wire::text}},
        {10, {Wire::text}},
        {17, {Wire::number}}}},
      {"InternedData",
       {{2, {Wire::message, "EventName"}},
        {3, {Wire::message, "DebugAnnotationName"}},
        {29, {Wire::message, "InternedString"}}}},
      {"EventName", {{1, {Wire::number}}, {2, {Wire::text}}}},
      {"DebugAnnotationName", {{1, {Wire::number}}, {2, {Wire::text}}}},
      {"InternedString", {{1, {Wire::number}}, {2, {Wire::text}}}}};
  return schema;
}

/// A message that was read by the schema; what the schema does not have is a failure of the test.
class SchemaMessage {
 public:
  SchemaMessage(std::string_view bytes, const std::string& name) {
    const auto& fields = perfetto_schema().at(name);
    while (!bytes.empty()) {
      const uint64_t key = varint(bytes);
      const auto field = fields.find(key >> 3);
      if (field == fields.end()) {
        ADD_FAILURE() << name << " has no field " << (key >> 3);
        return;
      }
      static constexpr uint64_t kWireTypes[] = {0, 1, 2, 2};
      const Wire wire = field->second.wire;
      if ((key & 7) != kWireTypes[static_cast<size_t>(wire)]) {
        ADD_FAILURE() << name << "." << (key >> 3) << " has wire type " << (key & 7);
        return;
      }
      if (wire == Wire::number) {
        numbers_.emplace(key >> 3, varint(bytes));
      } else {
        std::string value = take(bytes, wire == Wire::real ? 8 : varint(bytes));
        if (wire == Wire::message) {
          messages_.emplace(key >> 3, SchemaMessage(value, field->second.message));
        } else {
          texts_.emplace(key >> 3, std::move(value));
        }
      }
    }
  }

  bool has(uint64_t field) const {
    return numbers_.contains(field) || texts_.contains(field) || messages_.contains(field);
  }
  uint64_t number(uint64_t field) const {
    const auto found = numbers_.find(field);
    return found == numbers_.end() ? 0 : found->second;
  }
  double real(uint64_t field) const {
    double value = 0;
    std::memcpy(&value, texts_.find(field)->second.data(), sizeof value);
    return value;
  }
  std::string text(uint64_t field) const {
    const auto found = texts_.find(field);
    return found == texts_.end() ? "" : found->second;
  }
  const SchemaMessage& message(uint64_t field) const { return messages_.find(field)->second; }
  std::vector<const SchemaMessage*> all(uint64_t field) const {
    std::vector<const SchemaMessage*> list;
    for (auto [at, end] = messages_.equal_range(field); at != end; ++at) {
      list.push_back(&at->second);
    }
    return list;
  }

 private:
  static uint64_t varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes.empty()) {
        ADD_FAILURE() << "a number is cut off";
        break;
      }
      const auto byte = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  }
  static std::string take(std::string_view& bytes, uint64_t count) {
    std::string taken(bytes.substr(0, count));
    EXPECT_EQ(taken.size(), count) << "a text is cut off";
    bytes.remove_prefix(taken.size());
    return taken;
  }

  std::multimap<uint64_t, uint64_t> numbers_;
  std::multimap<uint64_t, std::string> texts_;
  std::multimap<uint64_t, SchemaMessage> messages_;
};

/// A slice as a viewer shows it.
struct ShownSlice {
  std::string name;
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string layer = {};
  uint64_t flops = 0;
  uint64_t bytes = 0;
  size_t depth = 0;
};

/// What a viewer makes of a trace: slices by track in the order of their begins, and counters.
struct ShownTrace {
  explicit ShownTrace(const std::string& file) {
    const SchemaMessage trace(file, "Trace");
    for (const SchemaMessage* packet : trace.all(1)) take(*packet);
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << "a slice has no end";
  }

  std::map<uint64_t, std::string> tracks;  ///< names by number
  std::map<uint64_t, std::vector<ShownSlice>> slices;
  std::map<std::string, std::vector<double>> counters;

 private:
  /// What holds for a sequence of packets.
  struct Sequence {
    bool cleared = false;
    uint64_t clock = 6, track = 0, last = 0;
    std::map<uint64_t, std::map<uint64_t, std::string>> texts;
  };

  void take(const SchemaMessage& packet) {
    ASSERT_GT(packet.number(10), 0U) << "every packet names its sequence";
    Sequence& sequence = sequences_[packet.number(10)];
    if (packet.number(13) & 1) {
      sequence = {};
      sequence.cleared = true;
    }
    EXPECT_TRUE(sequence.cleared || !(packet.number(13) & 2)) << "it needs what was said before";
    if (packet.has(6)) {
      for (const SchemaMessage* clock : packet.message(6).all(1)) {
        if (clock->number(1) == 64) {
          EXPECT_EQ(clock->number(3), 1U);
          sequence.last = clock->number(2);
        }
      }
    }
    if (packet.has(59)) {
      sequence.clock = packet.message(59).number(58);
      sequence.track = packet.message(59).message(11).number(11);
    }
    if (packet.has(12)) {
      for (const uint64_t kind : {2, 3, 29}) {
        for (const SchemaMessage* entry : packet.message(12).all(kind)) {
          EXPECT_TRUE(sequence.texts[kind].emplace(entry->number(1), entry->text(2)).second)
              << entry->text(2) << " has the number of another text";
        }
      }
    }
    if (packet.has(60)) describe(packet.message(60));
    if (packet.has(11)) take_event(packet, packet.message(11), sequence);
  }

  void describe(const SchemaMessage& track) {
    const std::string name = track.has(4) ? track.message(4).text(5) : track.text(2);
    EXPECT_TRUE(tracks.emplace(track.number(1), name).second) << "two tracks have one number";
  }

  void take_event(const SchemaMessage& packet, const SchemaMessage& event, Sequence& sequence) {
    const uint64_t clock = packet.has(58) ? packet.number(58) : sequence.clock;
    uint64_t at = packet.number(8);
    if (clock == 64) at = sequence.last += at;
    const uint64_t track = event.has(11) ? event.number(11) : sequence.track;
    ASSERT_TRUE(tracks.contains(track)) << "an event is on no track";
    if (event.number(9) == 4) return counters[tracks[track]].push_back(event.real(44));
    std::vector<size_t>& open = open_[track];
    if (event.number(9) == 2) {
      ASSERT_FALSE(open.empty()) << "a slice ends that did not begin";
      slices[track][open.back()].end = at;
      return open.pop_back();
    }
    ASSERT_EQ(event.number(9), 1U);
    ShownSlice slice{sequence.texts[2].at(event.number(10)), at};
    slice.depth = open.size();
    for (const SchemaMessage* note : event.all(4)) {
      const std::string& name = sequence.texts[3].at(note->number(1));
      if (name == "layer") slice.layer = sequence.texts[29].at(note->number(17));
      if (name == "FLOP") slice.flops = note->number(3);
      if (name == "bytes") slice.bytes = note->number(3);
    }
    open.push_back(slices[track].size());
    slices[track].push_back(std::move(slice));
  }

  std::map<uint64_t, Sequence> sequences_;
  std::map<uint64_t, std::vector<size_t>> open_;
};

}  // namespace hone::profile

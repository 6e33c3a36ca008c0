#include "profile/trace.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "profile/profile_file.h"

namespace hone::profile {
namespace {

/// The fields of a message of protocol buffers, by number; texts and messages as bytes.
class Fields {
 public:
  explicit Fields(std::string_view bytes) {
    while (!bytes.empty()) {
      const uint64_t key = varint(bytes);
      std::string value;
      switch (key & 7) {
        case 0:
          value = std::to_string(varint(bytes));
          break;
        case 1:
          value = take(bytes, 8);
          break;
        case 2:
          value = take(bytes, varint(bytes));
          break;
        default:
          ADD_FAILURE() << "wire type " << (key & 7);
          return;
      }
      fields_.emplace(key >> 3, std::move(value));
    }
  }
  std::string at(uint64_t field) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? "" : found->second;
  }
  auto all(uint64_t field) const { return fields_.equal_range(field); }

 private:
  static uint64_t varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (int shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  }
  static std::string take(std::string_view& bytes, uint64_t count) {
    const std::string taken(bytes.substr(0, count));
    EXPECT_EQ(taken.size(), count);
    bytes.remove_prefix(std::min<uint64_t>(count, bytes.size()));
    return taken;
  }
  std::multimap<uint64_t, std::string> fields_;
};

std::string read_gzip(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text(1 << 20, '\0');
  const int read = gzread(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  text.resize(static_cast<size_t>(std::max(read, 0)));
  return text;
}

class Traces : public testing::Test {
 protected:
  Traces() : folder_(testing::TempDir() + "traces") {
    std::filesystem::create_directories(folder_);
    const Listening listening(recorder_);
    const Span outer("evaluation", Stage::evaluation);
    const Span inner("a \"quoted\" name");
  }
  ~Traces() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  Recorder recorder_;
};

TEST_F(Traces, PerfettoSlicesAreNestedAndEnd) {
  recorder_.finish();
  const std::string path = folder_ + "/trace.pftrace";
  write_perfetto_trace(path, recorder_, {{.seconds = 0.5, .resident_bytes = 7, .busy_cores = 2}});
  const Fields trace(read_file(path));
  std::map<std::string, std::string> names;
  std::vector<std::string> order;
  int counters = 0;
  for (auto [at, end] = trace.all(1); at != end; ++at) {
    const Fields packet(at->second);
    EXPECT_EQ(packet.at(10), "1") << "every packet names its sequence";
    if (!packet.at(12).empty()) {
      const Fields entry(Fields(packet.at(12)).at(2));
      names[entry.at(1)] = entry.at(2);
    }
    if (packet.at(11).empty()) continue;
    const Fields event(packet.at(11));
    if (event.at(9) == "1") order.push_back("begin " + names[event.at(10)]);
    if (event.at(9) == "2") order.emplace_back("end");
    if (event.at(9) == "4") ++counters;
  }
  const std::vector<std::string> wanted = {"begin evaluation", "begin a \"quoted\" name", "end",
                                           "end"};
  EXPECT_EQ(order, wanted);
  EXPECT_EQ(counters, 2) << "resident memory and busy cores";
}

TEST_F(Traces, JsonHasEveryEvent) {
  recorder_.finish();
  const std::string path = folder_ + "/trace.json.gz";
  write_json_trace(path, recorder_);
  const Json json = parse_json(read_gzip(path), path);
  std::vector<std::string> names;
  for (const Json& event : json.at("traceEvents")) {
    if (event.at("ph") == "X") names.push_back(event.at("name"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a \"quoted\" name", "evaluation"}));
}

TEST_F(Traces, TheProfilesStagesSumToItsWallTime) {
  recorder_.set_memory("weights", 5);
  recorder_.set_memory("weights", 3);
  recorder_.finish();
  write_profile(folder_, {recorder_, {{.seconds = 1}}, {"eval"}, "hone 0"});
  const Json json = parse_json(read_file(folder_ + "/profile.json"), "profile.json");
  double sum = 0;
  for (const auto& [name, value] : json.at("stages").items()) {
    if (value.is_number()) sum += value.get<double>();
    if (!value.is_object()) continue;
    for (const auto& [part, seconds] : value.items()) sum += seconds.get<double>();
  }
  EXPECT_NEAR(sum, json.at("wall_s").get<double>(), 1e-9);
  EXPECT_EQ(json.at("memory").at("weights"), 5) << "the largest counts";
  EXPECT_EQ(json.at("samples").size(), 1U);
  EXPECT_EQ(json.at("command"), Json({"eval"}));
}

}  // namespace
}  // namespace hone::profile

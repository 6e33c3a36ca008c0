#include "profile/trace.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "base/json.h"
#include "profile/perfetto_reader.h"
#include "profile/profile_file.h"

namespace hone::profile {
namespace {

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

TEST_F(Traces, PerfettoShowsSlicesAndCounters) {
  recorder_.finish();
  const std::string path = folder_ + "/trace.pftrace";
  write_perfetto_trace(path, recorder_, {{.seconds = 0.5, .resident_bytes = 7, .busy_cores = 2}});
  const ShownTrace shown(read_file(path));
  ASSERT_EQ(shown.slices.size(), 1U);
  const std::vector<ShownSlice>& slices = shown.slices.begin()->second;
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(shown.tracks.at(shown.slices.begin()->first), "main");
  const auto& events = recorder_.main_track().events;  // in the order of their ends
  for (const size_t i : {0, 1}) {
    const Event& event = events[1 - i];
    EXPECT_EQ(slices[i].name, event.name);
    EXPECT_EQ(slices[i].begin, static_cast<uint64_t>(event.begin_ns));
    EXPECT_EQ(slices[i].end, static_cast<uint64_t>(event.end_ns));
    EXPECT_EQ(slices[i].depth, i);
  }
  EXPECT_EQ(shown.counters.at("resident_bytes"), std::vector<double>{7});
  EXPECT_EQ(shown.counters.at("busy_cores"), std::vector<double>{2});
}

/// Ops of a model of twelve layers, each of which says its layer, FLOP and bytes.
void add_many_ops(Recorder& recorder, int count) {
  Plan plan;
  const Value in = plan.input(DType::f32, Axis::one, 1000);
  const Value out = plan.temporary(DType::f32, Axis::one, 100'000);
  static constexpr const char* kNames[] = {"linear", "layer_norm", "attention", "gelu"};
  for (int layer = 0; layer < 12; ++layer) {
    plan.set_scope("layer " + std::to_string(layer));
    for (const char* name : kNames) {
      plan.add({.name = name,
                .reads = {in},
                .writes = {out},
                .run = [](const Frame&) {},
                .flops = [layer](const Extents&) { return 1e9 + layer; }});
    }
  }
  const Extents extents;
  for (int i = 0; i < count; ++i) {
    const Step& step = plan.steps()[static_cast<size_t>(i) % plan.steps().size()];
    recorder.on_step({plan, step, extents, 0, 0});
  }
}

TEST_F(Traces, AMillionEventsTakeAtMost60Megabytes) {
  constexpr int kEvents = 10'000;
  add_many_ops(recorder_, kEvents);
  recorder_.finish();
  const std::string path = folder_ + "/trace.pftrace";
  write_perfetto_trace(path, recorder_, {});
  const std::string file = read_file(path);
  // Times are close together here: a millisecond between two takes a byte more, twice an event.
  EXPECT_LE(file.size(), (60 - 2) * kEvents);
  const ShownTrace shown(file);
  const std::vector<ShownSlice>& slices = shown.slices.begin()->second;
  ASSERT_EQ(slices.size(), kEvents + 2U);
  for (size_t i = 2; i < slices.size(); i += 997) {
    EXPECT_EQ(slices[i].layer, "layer " + std::to_string((i - 2) / 4 % 12));
    EXPECT_EQ(slices[i].flops, 1'000'000'000 + (i - 2) / 4 % 12);
    EXPECT_EQ(slices[i].bytes, 404'000U);
  }
}

/// A disk that is full for what has a text in its path.
class FullForTraces : public FileCallHook {
 public:
  FullForTraces() { set_file_call_hook(this); }
  ~FullForTraces() override { set_file_call_hook(nullptr); }
  std::optional<int> before(FileCall call, const std::string& path, const std::string&) override {
    if (call == FileCall::write && path.find("trace.") != std::string::npos) return ENOSPC;
    return {};
  }
};

TEST_F(Traces, AFullDiskIsAnErrorThatLeavesNothing) {
  recorder_.finish();
  const FullForTraces full;
  const auto fails = [&](const std::string& path, const std::function<void()>& write) {
    try {
      write();
      ADD_FAILURE() << path << " was written";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  };
  const std::string perfetto = folder_ + "/trace.pftrace", json = folder_ + "/trace.json.gz";
  fails(perfetto, [&] { write_perfetto_trace(perfetto, recorder_, {}); });
  fails(json, [&] { write_json_trace(json, recorder_); });
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
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

#include "study/small_report.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hone::study {
namespace {

SmallResult result(SmallVariant variant, double p50, uint64_t peak, double score,
                   std::vector<int64_t> labels = {0, 1, 1, 0}) {
  SmallResult made{.variant = variant};
  made.p50_ms = p50;
  made.p99_ms = 2 * p50;
  made.peak_bytes = peak;
  made.model_bytes = 50'000'000;
  made.per_second = 1000 / p50;
  made.metric = "accuracy";
  made.score = score;
  made.samples = 4;
  made.layers = 6;
  made.labels = std::move(labels);
  return made;
}

SmallReport make_report() {
  SmallReport report{.model = "a<b>", .data = "sst2", .machine = "cpu & co", .threads = 2};
  report.results = {result({DType::f32, false, 0}, 10, 100'000'000, 0.9),
                    result({DType::f32, false, 64'000'000}, 11, 63'000'000, 0.9),
                    result({DType::i8, false, 0}, 4, 50'000'000, 0.8, {0, 1, 0, 0}),
                    result({DType::bf16, false, 0}, 12, 70'000'000, 0.9)};
  report.results.push_back({.variant = {DType::i8, true, 1'000'000}, .refused = "a \"b\", c"});
  return report;
}

TEST(SmallReport, NamesSayHow) {
  EXPECT_EQ((SmallVariant{DType::f32, false, 0}).name(), "fp32");
  EXPECT_EQ((SmallVariant{DType::i8, true, 32'000'000}).name(), "int8+exits+32MB");
  EXPECT_EQ((SmallVariant{DType::bf16, false, 1'500'000}).name(), "bf16+1.5MB");
}

TEST(SmallReport, TheFrontIsOfLatencyMemoryAndScore) {
  const SmallReport report = make_report();
  const auto front = [&](size_t i) { return on_front(report, report.results[i]); };
  EXPECT_TRUE(front(0));
  EXPECT_TRUE(front(1));  // slower, but in less memory
  EXPECT_TRUE(front(2));
  EXPECT_FALSE(front(3));  // the second is as good
  EXPECT_FALSE(front(4));
  SmallReport equal;
  equal.results = {report.results[0], report.results[0]};
  EXPECT_TRUE(on_front(equal, equal.results[0]));
  EXPECT_TRUE(on_front(equal, equal.results[1]));
}

TEST(SmallReport, AgreementIsWithTheFirst) {
  SmallReport report = make_report();
  EXPECT_EQ(agreement(report, report.results[1]), 1.0);
  EXPECT_EQ(agreement(report, report.results[2]), 0.75);
  report.results[2].labels.clear();
  EXPECT_FALSE(agreement(report, report.results[2]).has_value());
}

TEST(SmallReport, FilesHaveEveryVariant) {
  const SmallReport report = make_report();
  const std::string csv = to_csv(report);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_NE(csv.find("\nint8+exits+1MB,,,,,,,,,,,\"a \"\"b\"\", c\"\n"), std::string::npos) << csv;
  const size_t commas = 11;
  const std::string line = csv.substr(csv.find("\nint8,") + 1);
  EXPECT_EQ(static_cast<size_t>(std::count(
                line.begin(), line.begin() + static_cast<ptrdiff_t>(line.find('\n')), ',')),
            commas);
  const Json json = to_json(report);
  ASSERT_EQ(json["variants"].size(), 5u);
  EXPECT_EQ(json["baseline"], "fp32");
  EXPECT_EQ(json["variants"][2]["agreement"], 0.75);
  EXPECT_EQ(json["variants"][3]["front"], false);
  EXPECT_EQ(json["variants"][4]["refused"], "a \"b\", c");
  const std::string markdown = to_markdown(report);
  EXPECT_NE(markdown.find("| fp32+64MB | 50.0 MB | 63.0 MB | 11.00 ms | 22.00 ms |"),
            std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("- int8+exits+1MB: a \"b\", c"), std::string::npos) << markdown;
}

TEST(SmallReport, ThePictureIsWellFormedAndHasTheFront) {
  const std::string svg = to_svg(make_report());
  EXPECT_NE(svg.find("a&lt;b&gt;"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("a<b>"), std::string::npos);
  const auto count = [&](const std::string& what) {
    size_t found = 0;
    for (size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<circle"), 4u);
  EXPECT_EQ(count("class=\"ring s0\""), 1u);      // not on the front
  EXPECT_EQ(count("class=\"curve s1 d1\""), 1u);  // through int8 and fp32
  EXPECT_EQ(count("<text"), count("</text>"));
}

TEST(SmallReport, ResultsCrossProcesses) {
  const SmallResult before = result({DType::i8, true, 5}, 3.25, 7, 0.5);
  const SmallResult after = small_result(before.variant, Json::parse(to_json(before).dump()));
  EXPECT_EQ(after.p50_ms, before.p50_ms);
  EXPECT_EQ(after.p99_ms, before.p99_ms);
  EXPECT_EQ(after.peak_bytes, before.peak_bytes);
  EXPECT_EQ(after.score, before.score);
  EXPECT_EQ(after.labels, before.labels);
  EXPECT_EQ(after.metric, before.metric);
}

}  // namespace
}  // namespace hone::study

// hone bench --small: the report on a model in little memory.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "cli/program.h"
#include "infer/exiting_folder.h"
#include "sanitized.h"

namespace hone::cli {
namespace {

const std::string kData =
    "sentence\tlabel\nthe film is great\tpositive\nthe movie was not good , it was dull\tnegative\n"
    "a\tpositive\n";

Finished bench(const std::string& model, const std::string& data, const Words& more) {
  Words words = {"bench", "--small", model, "--data", data, "--threads", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return hone(words);
}

TEST(BenchSmall, ReportsOnEveryVariant) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const Scratch scratch;
  const std::string model = scratch / "model";
  // 35 MB of weights.
  infer::write_exiting_folder("bert-words", "pabee",
                              {{"hidden_size", 512},
                               {"num_attention_heads", 4},
                               {"intermediate_size", 256},
                               {"num_hidden_layers", 6}},
                              model);
  const std::string data = scratch.write("dev.tsv", kData);
  const std::string output = scratch / "report";
  const Finished done =
      bench(model, data, {"--budgets", "2MB,32MB,4GB", "--output", output, "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("int8+exits"), std::string::npos) << done.err;
  const Json report = done.objects().at(0);
  std::map<std::string, Json> variants;
  for (const Json& each : report["variants"]) variants[each["variant"]] = each;
  for (const char* name : {"fp32", "bf16", "int8", "fp32+exits", "int8+exits", "fp32+32MB"}) {
    ASSERT_TRUE(variants.contains(name)) << name;
    EXPECT_FALSE(variants[name].contains("refused")) << variants[name];
  }
  EXPECT_FALSE(variants.contains("fp32+4000MB"));  // not felt
  for (const auto& [name, each] : variants) {
    if (name.ends_with("+2MB")) {
      EXPECT_NE(each.at("refused").get<std::string>().find("the least is"), std::string::npos);
    } else if (name.ends_with("+32MB")) {
      EXPECT_LE(each.at("peak_rss_bytes").get<int64_t>(), 32'000'000) << name;
    }
  }
  EXPECT_EQ(variants["fp32+32MB"]["agreement"], 1.0);
  EXPECT_EQ(variants["fp32+32MB"]["score"], variants["fp32"]["score"]);
  EXPECT_EQ(variants["fp32+exits+32MB"]["mean_layers"], variants["fp32+exits"]["mean_layers"]);
  EXPECT_LT(variants["fp32+32MB"]["peak_rss_bytes"], variants["fp32"]["peak_rss_bytes"]);
  EXPECT_LT(variants["int8"]["model_bytes"], variants["bf16"]["model_bytes"]);
  for (const char* name : {"/report.md", "/report.csv", "/report.json", "/report.svg"}) {
    EXPECT_TRUE(file_exists(output + name)) << name;
  }
  EXPECT_EQ(Json::parse(read_file(output + "/report.json")), report);
  EXPECT_EQ(scratch.entries(), (Words{"dev.tsv", "model", "report"}));
}

TEST(BenchSmall, OneVariantIsMeasuredHere) {
  const Scratch scratch;
  const std::string data = scratch.write("dev.tsv", kData);
  const Finished done = bench(golden("bert-words"), data, {"--variant", "int8"});
  ASSERT_EQ(done.code, 0) << done.err;
  const Json result = done.objects().at(0);
  EXPECT_EQ(result["variant"], "int8");
  EXPECT_EQ(result["samples"], 3);
  EXPECT_EQ(result["labels"].size(), 3u);
  if (!kSanitized) {
    EXPECT_NEAR(result["peak_rss_bytes"].get<double>(),
                1024. * static_cast<double>(done.peak_kilobytes), 1e6);
  }
}

TEST(BenchSmall, SaysWhatIsWrongAndLeavesNothing) {
  const Scratch scratch;
  const std::string data = scratch.write("dev.tsv", kData);
  const std::string model = golden("bert-words");
  const std::string output = scratch / "report";
  expect_refused(hone({"bench", "--small", model}), {"--data"});
  expect_refused(hone({"bench", "--data", data}), {"--small"});
  expect_refused(bench(model, scratch.path(), {}), {"--task_name"});
  expect_refused(bench(model, scratch / "none.tsv", {}), {"none.tsv"});
  expect_refused(bench(model, data, {"--variant", "fp8"}), {"--variant", "fp8"});
  expect_refused(bench(model, data, {"--variant", "fp32+32XB"}), {"--variant", "32XB"});
  expect_refused(bench(model, data, {"--variant", "fp32+exits"}), {"has no early exits"});
  expect_refused(bench(model, data, {"--budgets", "0MB"}), {"--budgets"});
  expect_refused(bench(scratch / "nothing", data, {"--output", output, "--quiet"}), {"nothing"});
  const std::string other = scratch.write("other.tsv", "sentence\tlabel\na film\tsideways\n");
  expect_refused(bench(model, other, {"--output", output, "--quiet"}), {"other.tsv", "sideways"});
  EXPECT_FALSE(std::filesystem::exists(output));
  scratch.write("full/file", "x");
  expect_refused(bench(model, data, {"--output", scratch / "full"}), {"full"});
}

}  // namespace
}  // namespace hone::cli

#include "report/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "report/page_parts.h"

namespace hone::report {
namespace {

class ReportFolder {
 public:
  ReportFolder() : path_(testing::TempDir() + "report-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~ReportFolder() { std::filesystem::remove_all(path_); }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;

  const std::string& path() const { return path_; }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    write_file(path_ + "/" + name, text);
  }
  /// What is said where the folder is refused.
  std::string refusal() const {
    try {
      read_report(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      return error.what();
    }
    ADD_FAILURE() << "it was read";
    return {};
  }

 private:
  std::string path_;
};

constexpr const char* kLog =
    "{\"step\":10,\"epoch\":0.1,\"loss\":0.7,\"learning_rate\":0.001}\n"
    "{\"step\":20,\"epoch\":0.2,\"loss\":null,\"learning_rate\":0.0005}\n"
    "{\"step\":20,\"epoch\":0.2,\"eval_loss\":0.6,\"eval_accuracy\":0.75,\"eval_samples\":8}\n";

TEST(Report, ARunHasItsCurvesStagesAndResults) {
  const ReportFolder folder;
  folder.put("log.jsonl", kLog);
  folder.put("all_results.json",
             "{\"eval_accuracy\":0.75,\"seconds\":{\"loading\":1,\"forward\":2,\"optimizer\":0.5,"
             "\"other\":0.75,\"wall\":3.75},\"memory_bytes\":{\"weights\":2000000}}");
  const Report report = read_report(folder.path());
  ASSERT_EQ(report.sections.size(), 2u);
  const Section& training = report.sections[0];
  ASSERT_EQ(training.charts.size(), 3u);
  const auto& loss = std::get<LineChart>(training.charts[0]);
  ASSERT_EQ(loss.series.size(), 2u);
  EXPECT_EQ(loss.series[0].x, (std::vector<double>{10, 20}));
  EXPECT_EQ(loss.series[0].y[0], 0.7);
  EXPECT_EQ(loss.series[1].y, (std::vector<double>{0.6}));
  EXPECT_EQ(text_of(training.charts[1]).title, "Evaluation by step");
  const auto& pie = std::get<PieChart>(report.sections[1].charts[0]);
  double total = 0;
  for (const PieSlice& slice : pie.slices) total += slice.value;
  EXPECT_DOUBLE_EQ(total, 3.75);  // nothing twice
}

TEST(Report, ALogTellsHowFastItsStepsWent) {
  const ReportFolder folder;
  folder.put(
      "log.jsonl",
      "{\"step\":10,\"seconds\":5,\"resident_bytes\":2000000}\n{\"step\":30,\"seconds\":9}\n"
      "{\"step\":30,\"seconds\":9.5}\n{\"step\":40,\"seconds\":2}\n{\"step\":42,\"seconds\":3}\n");
  const Section training = read_report(folder.path()).sections.at(0);
  ASSERT_EQ(training.charts.size(), 2u);
  const auto& memory = std::get<LineChart>(training.charts[0]).series.at(0);
  EXPECT_EQ(memory.name, "resident MB");
  EXPECT_EQ(memory.y, (std::vector<double>{2}));
  const auto& speed = std::get<LineChart>(training.charts[1]).series.at(0);
  EXPECT_EQ(speed.name, "steps a second");
  EXPECT_EQ(speed.x, (std::vector<double>{30, 42}));
  EXPECT_EQ(speed.y, (std::vector<double>{5, 2}));
}

TEST(Report, RunsOfOneFolderAreCompared) {
  const ReportFolder folder;
  folder.put("a/log.jsonl", kLog);
  folder.put("b/log.jsonl", kLog);
  folder.put("b/checkpoint-20/log.jsonl", kLog);
  const Report report = read_report(folder.path());
  const auto& loss = std::get<LineChart>(report.sections.at(0).charts.at(0));
  ASSERT_EQ(loss.series.size(), 4u);
  EXPECT_EQ(loss.series[0].name, "a: loss");
  EXPECT_EQ(loss.series[2].name, "b: loss");
}

TEST(Report, ALineThatIsBeingWrittenIsLeftOut) {
  const ReportFolder folder;
  folder.put("log.jsonl", std::string(kLog) + "{\"step\":30,\"lo");
  const Report report = read_report(folder.path());
  EXPECT_EQ(std::get<LineChart>(report.sections[0].charts[0]).series[0].x.size(), 2u);
}

TEST(Report, RecordsGiveMediansSpreadsAndNamedGaps) {
  const ReportFolder folder;
  std::string records;
  for (const char* seconds : {"1", "3", "2"}) {
    records += std::string("{\"study\":\"loader\",\"case\":{\"workers\":2},\"metrics\":{\"s\":") +
               seconds + "}}\n";
  }
  records +=
      "{\"study\":\"loader\",\"case\":{\"workers\":9},\"status\":\"not available\","
      "\"why\":\"two cores\"}\n";
  folder.put("records.jsonl", records);
  const Report report = read_report(folder.path());
  const DataTable& table = report.sections.at(0).tables.at(0);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"workers 2", "2 (1 to 3)", "ok"}));
  EXPECT_EQ(table.rows[1], (std::vector<std::string>{"workers 9", "", "not available: two cores"}));
}

TEST(Report, RecordsOfSeveralMachinesAreNotAveraged) {
  const ReportFolder folder;
  folder.put("records.jsonl",
             "{\"study\":\"s\",\"machine\":{\"processor\":\"A\"},\"metrics\":{\"ms\":1}}\n"
             "{\"study\":\"s\",\"machine\":{\"processor\":\"B\"},\"metrics\":{\"ms\":9}}\n");
  const Report report = read_report(folder.path());
  const DataTable& table = report.sections.at(0).tables.at(0);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[1][1], "B");
  EXPECT_EQ(table.rows[1][2], "9");
}

TEST(Report, MistakesAreOneLineThatNamesTheFile) {
  const ReportFolder folder;
  EXPECT_NE(folder.refusal().find("log.jsonl"), std::string::npos);
  folder.put("log.jsonl", "{\"step\":1,\"loss\":1}\n[1]\n");
  EXPECT_NE(folder.refusal().find("log.jsonl: line 2"), std::string::npos);
  folder.put("log.jsonl", "{\"step\":1,\"loss\":1}\n");
  folder.put("records.jsonl", "{\"study\":\"s\",\"format\":7,\"metrics\":{}}\n");
  EXPECT_NE(folder.refusal().find("records.jsonl: line 1: format: 7"), std::string::npos);
  folder.put("records.jsonl", "{\"study\":\"s\"}\n");
  EXPECT_NE(folder.refusal().find("metrics"), std::string::npos);
  folder.put("records.jsonl", "");
  folder.put("profile.json", "{\"wall_s\":1}");
  EXPECT_NE(folder.refusal().find("stages"), std::string::npos);
}

TEST(Report, NothingOnThePageCanRunOrBeFetched) {
  const ReportFolder folder;
  const std::string hostile = "</td><script>x</script><img src=http://a.b/c>";
  folder.put("records.jsonl", "{\"study\":\"" + hostile + "\",\"case\":{\"" + hostile + "\":\"" +
                                  hostile + "\"},\"metrics\":{\"" + hostile + "\":1}}\n");
  folder.put(std::string("<b onload=x>") + "/log.jsonl", kLog);
  // A dense curve and a flame graph, whose names the page's data has too.
  const std::string in_data = "</script><img src=x>&amp;\u2028\u2029<!--";
  std::string log;
  for (int step = 1; step <= 600; ++step) {
    log += fmt::format("{{\"step\":{},\"{}\":1}}\n", step, in_data);
  }
  folder.put("dense/log.jsonl", log);
  folder.put("dense/profile.json",
             fmt::format("{{\"wall_s\":1,\"stages\":{{}},\"layers\":[{{\"name\":\"{0}\",\"layer\":"
                         "\"{0}\",\"self_s\":1}}]}}",
                         in_data));
  std::string page = to_html(read_report(folder.path()));
  const std::string mark = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(mark) + mark.size();
  const size_t end = page.find("</script>", begin);
  ASSERT_EQ(page.substr(end, 18), "</script>\n<script>");
  const std::string data = page.substr(begin, end - begin);
  for (const char* never : {"<", ">", "&", "\u2028", "\u2029"}) {
    EXPECT_EQ(data.find(never), std::string::npos) << never;
  }
  const Json pictures = Json::parse(data);
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_NE(pictures[0]["series"][0]["name"].get<std::string>().find(in_data), std::string::npos);
  EXPECT_EQ(pictures[0]["series"][0]["x"].size(), 600u);
  EXPECT_EQ(pictures[1]["frames"][1][1], in_data);
  // What is left is markup of our own, in which names are texts.
  page.erase(begin);
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<b "), std::string::npos);
  EXPECT_EQ(page.find("src=\""), std::string::npos);
}

TEST(Report, ThePolicyAllowsTheScriptAndTheStylesOfThePageAlone) {
  const std::string page = to_html(Report{.title = "none"});
  EXPECT_NE(page.find(fmt::format("content=\"default-src 'none'; style-src '{}' '{}'; script-src "
                                  "'{}'; base-uri 'none'; form-action 'none'\"",
                                  chart_style_hash(), page_style_hash(), page_script_hash())),
            std::string::npos);
  EXPECT_EQ(page.substr(0, page.find("<script")).find(" style="), std::string::npos);
  EXPECT_EQ(page_script().find("</script"), std::string_view::npos);
  EXPECT_NE(to_html(Report{}, 5).find("<noscript><meta http-equiv=\"refresh\" content=\"5\">"),
            std::string::npos);
}

TEST(Report, RunsAndProfilesStandSideBySide) {
  const ReportFolder folder;
  folder.put("a/all_results.json", "{\"train_loss\":1.5,\"epoch\":2}");
  folder.put("b/all_results.json", "{\"train_loss\":0.5,\"f1\":1}");
  folder.put("b/profile.json", "{\"wall_s\":2,\"stages\":{\"loading\":1}}");
  folder.put("c/profile.json", "{\"wall_s\":4,\"stages\":{\"loading\":3}}");
  const Report report = read_report(folder.path());
  ASSERT_EQ(report.sections.size(), 6u);
  const DataTable& results = report.sections[0].tables.at(0);
  EXPECT_TRUE(results.compares);
  EXPECT_EQ(results.columns, (std::vector<std::string>{"name", "a", "b"}));
  const std::vector<std::vector<std::string>> rows = {
      {"epoch", "2", ""}, {"train_loss", "1.5", "0.5"}, {"f1", "", "1"}};
  EXPECT_EQ(results.rows, rows);
  EXPECT_EQ(report.sections[1].run, "a");
  const DataTable& seconds = report.sections[3].tables.at(0);
  EXPECT_TRUE(seconds.compares);
  EXPECT_EQ(seconds.rows[0], (std::vector<std::string>{"wall", "2", "4"}));
  EXPECT_EQ(seconds.rows[1], (std::vector<std::string>{"stage loading", "1", "3"}));
  EXPECT_EQ(text_of(report.sections[4].charts.at(0)).title, "Where the time went: b");
}

TEST(Report, AProfileHasItsLayersAsAFlameGraph) {
  const ReportFolder folder;
  folder.put("profile.json", R"({"wall_s":1,"stages":{},"layers":[
    {"name":"linear","layer":"layer 0","self_s":0.002,"share":0.2},
    {"name":"gelu","layer":"layer 0","self_s":0.004,"share":0.4},
    {"name":"linear","layer":"layer 1","self_s":0.003,"share":0.3},
    {"name":"logging","self_s":0.001,"share":0.1}]})");
  const Report report = read_report(folder.path());
  const auto& flame = std::get<FlameChart>(report.sections.at(0).charts.at(1));
  std::string frames;
  for (const FlameFrame& frame : flame.frames) {
    frames += fmt::format("{} {} {}\n", frame.depth, frame.name, frame.value);
  }
  EXPECT_EQ(frames,
            "0 window 10\n1 layer 0 6\n2 gelu 4\n2 linear 2\n1 layer 1 3\n2 linear 3\n"
            "1 logging 1\n");
  EXPECT_EQ(report.sections[0].tables.at(0).rows[0][1], "layer 0");
}

TEST(Report, ATableOfManyColumnsIsPrintedInParts) {
  DataTable table{.title = "wide", .columns = {"name"}, .rows = {{"row"}}};
  for (int i = 0; i < 20; ++i) {
    table.columns.push_back("column " + std::to_string(i));
    table.rows[0].push_back("cell " + std::to_string(i));
  }
  Section section{.heading = "s"};
  section.tables.push_back(table);
  Report report{.title = "t"};
  report.sections.push_back(section);
  const std::string latex = to_latex(report);
  EXPECT_NE(latex.find("row & cell 18 & cell 19 \\\\"), std::string::npos) << latex;
  EXPECT_EQ(latex.find("{llllllll}"), std::string::npos);
}

TEST(Report, CsvAndLatexHoldThePagesNumbers) {
  const ReportFolder folder;
  folder.put(
      "records.jsonl",
      "{\"study\":\"a_b\",\"case\":{\"k\":\"x, \\\"y\\\" & z\"},\"metrics\":{\"ms\":1.25}}\n");
  const Report report = read_report(folder.path());
  const std::vector<NamedText> files = to_csv(report);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "a-b-ms.csv");
  EXPECT_EQ(files[0].text, "case,ms\n\"k x, \"\"y\"\" & z\",1.25\n");
  const std::string latex = to_latex(report);
  EXPECT_NE(latex.find("k x, \"y\" \\& z & 1.25"), std::string::npos) << latex;
  EXPECT_NE(latex.find("a\\_b"), std::string::npos);
  EXPECT_NE(to_html(report).find(">1.25<"), std::string::npos);
}

}  // namespace
}  // namespace hone::report

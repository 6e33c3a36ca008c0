#include "report/report.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"

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
  const std::string page = to_html(read_report(folder.path()));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<b "), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("src="), page.find("src=http"));  // it stands in text alone
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

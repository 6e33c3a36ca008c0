#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

constexpr const char* kRunLog = "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.25}\n";

TEST(ReportCommand, WritesPageTablesAndPictures) {
  const Scratch scratch;
  scratch.write("log.jsonl", kRunLog);
  const Finished done =
      hone({"report", scratch.path(), "--html", scratch / "page.html", "--csv", scratch / "tables",
            "--svg", scratch / "pictures", "--latex", scratch / "tables.tex"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(read_file(scratch / "page.html").find("<svg"), std::string::npos);
  EXPECT_EQ(read_file(scratch / "tables/loss-by-step.csv"),
            "series,step,loss\nloss,1,0.5\nloss,2,0.25\n");
  EXPECT_TRUE(read_file(scratch / "pictures/loss-by-step.svg").starts_with("<svg"));
  EXPECT_NE(read_file(scratch / "tables.tex").find("\\end{document}"), std::string::npos);
}

TEST(ReportCommand, APageInTheFolderIsTheDefault) {
  const Scratch scratch;
  scratch.write("log.jsonl", kRunLog);
  EXPECT_EQ(hone({"report", scratch.path()}).code, 0);
  EXPECT_TRUE(file_exists(scratch / "report.html"));
}

TEST(ReportCommand, RefusesMistakesInOneLine) {
  const Scratch scratch;
  expect_refused(hone({"report"}), {"DIR"});
  expect_refused(hone({"report", "/nowhere"}), {"/nowhere"});
  expect_refused(hone({"report", scratch.path()}), {scratch.path(), "log.jsonl"});
  expect_refused(hone({"report", scratch.path(), "--port", "70000"}), {"--port", "70000"});
}

}  // namespace
}  // namespace hone::cli

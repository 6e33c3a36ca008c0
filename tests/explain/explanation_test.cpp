#include "explain/explanation.h"

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "explain/page.h"
#include "explain/page_parts.h"

namespace hone::explain {
namespace {

Explanation full_explanation() {
  Explanation full;
  full.text = "a </script> film";
  full.label = "yes";
  full.score = 0.75;
  full.scores = {{"no", 0.25}, {"yes", 0.75}};
  full.tokens = 5;
  full.truncated = true;
  full.original_tokens = 9;
  full.phrases = {{"a <b>", 0, 3, 0.5, 0.25, true, "no"}, {"film", 12, 16, -0.5, {}, {}}};
  full.concepts = {{"a \"film\"", 0.125, 0.5, {{"no", 1}, {"yes", 2}}, 7}};
  full.shares = {{1, 0.5, 0.25}};
  full.tree = "(X a (X </script> film))";
  full.cut = {"the end"};
  return full;
}

TEST(Explanation, IsOneLineOfJson) {
  std::string line;
  append_json(full_explanation(), line);
  EXPECT_EQ(
      line,
      "{\"label\":\"yes\",\"score\":0.75,\"scores\":{\"no\":0.25,\"yes\":0.75},\"tokens\":5,"
      "\"truncated\":true,\"original_tokens\":9,\"phrases\":[{\"text\":\"a <b>\",\"start\":0,"
      "\"end\":3,\"share\":0.5,\"label\":\"no\",\"ablated_score\":0.25,\"flips\":true},{\"text\":"
      "\"film\","
      "\"start\":12,\"end\":16,\"share\":-0.5}],\"concepts\":[{\"text\":\"a \\\"film\\\"\","
      "\"share\":0.125,\"similarity\":0.5,\"labels\":{\"no\":1,\"yes\":2},\"row\":7}],\"shares\":{"
      "\"label\":1,\"local\":0.5,\"global\":0.25},\"tree\":\"(X a (X </script> film))\",\"cut\":["
      "\"the end\"]}");
}

TEST(Explanation, LeavesOutWhatIsAbsent) {
  Explanation plain;
  plain.label = "yes";
  plain.scores = {{"yes", 1}};
  plain.chosen = {"yes"};
  std::string line;
  append_json(plain, line);
  EXPECT_EQ(line,
            "{\"label\":\"yes\",\"score\":0,\"scores\":{\"yes\":1},\"labels\":[\"yes\"],"
            "\"tokens\":0,\"truncated\":false}");
}

/// Gives the data of a page as it is in the file, and fails where it could end its element.
std::string data_of_page(const std::string& page) {
  EXPECT_TRUE(page.starts_with(page_before_data()));
  EXPECT_TRUE(page.ends_with(page_behind_data()));
  const std::string data =
      page.substr(page_before_data().size(),
                  page.size() - page_before_data().size() - page_behind_data().size());
  EXPECT_EQ(data.find('<'), data.npos);
  return data;
}

TEST(ExplanationPage, HoldsItsTextsAsDataAlone) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("hone_explanations_" + std::to_string(::getpid()) + ".html"))
                               .string();
  {
    Page page(path, {"a<model>", "by </script>", {"no", "yes"}});
    page.add(full_explanation(), Gold{"<i>", true});
    page.add(full_explanation(), std::nullopt);
    page.add(full_explanation(), Gold{"2.5", {}});
    EXPECT_FALSE(file_exists(path)) << "before it is whole";
    page.finish();
  }
  const Json data = parse_json(data_of_page(read_file(path)), path);
  std::filesystem::remove(path);
  EXPECT_EQ(data.at("model"), "a<model>");
  EXPECT_EQ(data.at("method"), "by </script>");
  const Json& rows = data.at("rows");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].at("text"), "a </script> film");
  EXPECT_EQ(rows[0].at("gold"), "<i>");
  EXPECT_EQ(rows[0].at("wrong"), true);
  EXPECT_FALSE(rows[1].contains("gold"));
  EXPECT_FALSE(rows[2].contains("wrong"));
  EXPECT_EQ(rows[2].at("tree"), "(X a (X </script> film))");
  EXPECT_EQ(rows[2].at("phrases").at(0).at("text"), "a <b>");
}

TEST(ExplanationPage, LoadsNothingAndRunsOnlyItsOwn) {
  const std::string head(page_before_data());
  EXPECT_NE(head.find("default-src 'none'; style-src 'sha256-"), head.npos);
  EXPECT_EQ(head.find("unsafe"), head.npos);
  EXPECT_EQ(head.find("_HASH@"), head.npos);
  for (const std::string_view part : {page_before_data(), page_behind_data()}) {
    EXPECT_EQ(part.find("http"), part.find("http-equiv")) << "an address";
    EXPECT_EQ(part.find("style=\""), part.npos) << "the policy forbids it";
    EXPECT_EQ(part.find("innerHTML"), part.npos);
  }
}

}  // namespace
}  // namespace hone::explain

#include "data/line_reader.h"

#include <unistd.h>

#include <utility>

#include "data/reading.h"

namespace hone::data {
namespace {

using namespace std::string_literals;

std::vector<std::string> lines_of(std::string_view bytes, size_t longest = 100) {
  LineReader reader(bytes_of_memory(bytes), "file", longest);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next(line);) {
    lines.emplace_back(line);
    EXPECT_EQ(reader.number(), static_cast<int64_t>(lines.size()));
  }
  std::string_view line;
  EXPECT_FALSE(reader.next(line));
  return lines;
}

struct LineCase {
  std::string bytes;
  std::vector<std::string> lines;
};

class Lines : public testing::TestWithParam<LineCase> {};

TEST_P(Lines, AreSplit) { EXPECT_EQ(lines_of(GetParam().bytes), GetParam().lines); }

INSTANTIATE_TEST_SUITE_P(
    Table, Lines,
    testing::Values(LineCase{"", {}}, LineCase{"\n", {""}}, LineCase{"a", {"a"}},
                    LineCase{"a\n", {"a"}}, LineCase{"a\n\n", {"a", ""}},
                    LineCase{"a\r\nb\n", {"a", "b"}}, LineCase{"a\rb\n", {"a\rb"}},
                    LineCase{"a\r", {"a\r"}}, LineCase{"\r\n", {""}},
                    LineCase{"a\0b\n\0"s, {"a\0b"s, "\0"s}},
                    LineCase{"\xff\n\xc3", {"\xff", "\xc3"}}, LineCase{"\xef\xbb\xbfx\n", {"x"}},
                    LineCase{"\xef\xbb\xbf", {}}, LineCase{"\xef\xbb\xbf\n", {""}},
                    LineCase{"\xef\xbb", {"\xef\xbb"}},
                    LineCase{"a\n\xef\xbb\xbfx", {"a", "\xef\xbb\xbfx"}},
                    LineCase{"\xff\xfe bad\n", {"\xff\xfe bad"}}));

TEST(LineReader, KnowsEndings) {
  LineReader reader(bytes_of_memory("a\nb\r\nc"), "file");
  for (const char* ending : {"\n", "\r\n", ""}) {
    std::string_view line;
    ASSERT_TRUE(reader.next(line));
    EXPECT_EQ(reader.ending(), ending);
  }
}

TEST(LineReader, LineOfTheLimitPassesAndOneMoreByteDoesNot) {
  const std::string full(100, 'x');
  EXPECT_EQ(lines_of(full + "\r\n" + full), (std::vector<std::string>{full, full}));
  for (const char* ending : {"", "\n", "\r\n", "x", "xxxx\n"}) {
    EXPECT_EQ(error_of([&] { lines_of("a\n" + full + "x" + ending); }),
              "file: line 2: longer than 100 bytes");
  }
}

TEST(LineReader, ManyLinesCrossTheBuffer) {
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += std::to_string(i) + "\n";
  const std::vector<std::string> lines = lines_of(bytes);
  ASSERT_EQ(lines.size(), 100000u);
  for (size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i], std::to_string(i));
}

TEST(LineReader, LineOfMegabytes) {
  const std::string huge(5 << 20, 'y');
  EXPECT_EQ(lines_of("a\n" + huge + "\nb", 6 << 20), (std::vector<std::string>{"a", huge, "b"}));
}

TEST(LineReader, RefusesUtf16) {
  EXPECT_EQ(error_of([] { lines_of("\xff\xfe"s + "a\0"s); }), "file: UTF-16 text; expected UTF-8");
  EXPECT_EQ(error_of([] { lines_of("\xfe\xff"s + "\0a"s); }), "file: UTF-16 text; expected UTF-8");
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reader() const { return ends_[0]; }
  void write(std::string_view bytes) {
    ASSERT_EQ(::write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void close_writer() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

 private:
  int ends_[2];
};

TEST(LineReader, WaitsForWholeLinesOnly) {
  Pipe pipe;
  LineReader reader(bytes_of_descriptor(pipe.reader(), "pipe"), "pipe");
  std::string_view line;
  EXPECT_FALSE(reader.waiting());
  pipe.write("ha");
  EXPECT_FALSE(reader.waiting());
  pipe.write("lf\nnext\nha");
  EXPECT_TRUE(reader.waiting());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "half");
  EXPECT_TRUE(reader.waiting());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "next");
  EXPECT_FALSE(reader.waiting());
  pipe.close_writer();
  EXPECT_TRUE(reader.waiting());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "ha");
  EXPECT_TRUE(reader.waiting());
  EXPECT_FALSE(reader.next(line));
}

TEST(LineReader, ShortLinesThatBeginLikeAMarkAreNotHeldBack) {
  Pipe pipe;
  LineReader reader(bytes_of_descriptor(pipe.reader(), "pipe"), "pipe");
  std::string_view line;
  pipe.write("\xef");
  EXPECT_FALSE(reader.waiting());
  pipe.write("\n");
  EXPECT_TRUE(reader.waiting());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "\xef");
  pipe.write("\xef\xbb\xbfx\n");
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "\xef\xbb\xbfx");
}

TEST(RecordStream, WaitingSeesThroughBlankAndUnfinishedRows) {
  Pipe pipe;
  const auto stream =
      read_records(bytes_of_descriptor(pipe.reader(), "pipe"), "pipe", {Format::csv, false});
  pipe.write("text\n\n\"half\n");
  EXPECT_FALSE(stream->waiting());
  pipe.write("row\"\nx,y\n");
  EXPECT_TRUE(stream->waiting());
  Record record;
  ASSERT_TRUE(stream->next(record));
  EXPECT_EQ(record.text, "half\nrow");
  EXPECT_EQ(record.row, 3);
  EXPECT_TRUE(stream->waiting());  // the bad row is for next() to report
  EXPECT_EQ(error_of([&] { stream->next(record); }), "pipe: line 5: expected 1 fields, got 2");
  EXPECT_EQ(error_of([&] { stream->next(record); }), "pipe: line 5: expected 1 fields, got 2");
}

TEST(OpenBytes, NamesWhatItCannotOpen) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { open_bytes(folder.path()); }),
            folder.path() + ": a folder, expected a file");
  EXPECT_EQ(error_of([&] { open_bytes(folder.path() + "/none"); }),
            folder.path() + "/none: cannot open: No such file or directory");
}

}  // namespace
}  // namespace hone::data

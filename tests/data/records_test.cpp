#include "data/records.h"

#include <lzma.h>

#include <fstream>

#include "data/reading.h"

namespace hone::data {
namespace {

TEST(PlainLines, EveryLineIsARecord) {
  const auto records = records_of("a\n\n \"b\", c\t\n", Format::lines);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].text, "a");
  EXPECT_EQ(records[1].text, "");
  EXPECT_EQ(records[1].row, 2);
  EXPECT_EQ(records[2].text, " \"b\", c\t");
  EXPECT_EQ(records_of("", Format::lines).size(), 0u);
}

TEST(Format, ByNameAndExtension) {
  EXPECT_EQ(format_of("a.b/x.jsonl"), Format::jsonl);
  EXPECT_EQ(format_of("x.json"), Format::jsonl);
  EXPECT_EQ(format_of("x.csv"), Format::csv);
  EXPECT_EQ(format_of("x.tsv.xz"), Format::tsv);
  EXPECT_EQ(format_of("x.txt"), Format::lines);
  EXPECT_EQ(format_of("-"), Format::lines);
  EXPECT_EQ(parse_format("jsonl"), Format::jsonl);
  EXPECT_EQ(error_of([] { parse_format("xml"); }),
            "format: expected lines, jsonl, csv or tsv, got 'xml'");
}

TEST(OpenRecords, TakesTheFormatFromNameOrFlag) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.csv", "text\n\"a\"\n");
  EXPECT_EQ(records_of(*open_records(path, {})).at(0).text, "a");
  EXPECT_EQ(records_of(*open_records(path, {Format::lines})).at(1).text, "\"a\"");
}

/// Resident memory in use now.
int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

/// Repeats a block without holding the whole.
class Repeated : public ByteSource {
 public:
  Repeated(std::string head, std::string block, int64_t times)
      : rest_(std::move(head)), block_(std::move(block)), times_(times) {}
  size_t read(char* out, size_t capacity) override {
    if (at_ == rest_.size()) {
      if (times_-- == 0) return 0;
      rest_ = block_;
      at_ = 0;
    }
    const size_t got = rest_.copy(out, capacity, at_);
    at_ += got;
    return got;
  }
  bool ready() override { return true; }

 private:
  std::string rest_;
  std::string block_;
  int64_t times_;
  size_t at_ = 0;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kFreedMemoryIsKept = true;
#elif defined(__has_feature)
constexpr bool kFreedMemoryIsKept = __has_feature(address_sanitizer);
#else
constexpr bool kFreedMemoryIsKept = false;
#endif

TEST(Records, MemoryIsFlatOverManyRows) {
  if (kFreedMemoryIsKept) GTEST_SKIP() << "the address sanitizer keeps freed memory";
  struct Case {
    Format format;
    std::string head, row;
  };
  for (const Case& c : {Case{Format::lines, "", "a plain line of some words\n"},
                        Case{Format::csv, "text,label\n", "\"a \"\"quoted\"\" row\",1\n"},
                        Case{Format::tsv, "text\tlabel\n", "a row of words\t1\n"},
                        Case{Format::jsonl, "", "{\"text\":\"a line\",\"label\":1}\n"}}) {
    std::string block;
    for (int i = 0; i < 1000; ++i) block += c.row;
    const auto stream =
        read_records(std::make_unique<Repeated>(c.head, block, 500), "file", {c.format, false});
    Record record;
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(stream->next(record));
    const int64_t before = resident_bytes();
    int64_t rows = 1000;
    while (stream->next(record)) ++rows;
    EXPECT_EQ(rows, 500000);
    EXPECT_LT(resident_bytes() - before, 2 << 20);
  }
}

std::string compressed(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

TEST(Xz, IsReadAndItsDamageNamed) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string xz = compressed(text);
  const auto read = [&](std::string_view bytes) {
    return records_of(*open_records(folder.write("x.txt.xz", bytes), {}));
  };
  EXPECT_EQ(read(xz).size(), 50000u);
  EXPECT_EQ(read(xz).back().text, "line 49999");
  EXPECT_EQ(read(xz + xz).size(), 100000u);
  const std::string name = folder.path() + "/x.txt.xz: ";
  EXPECT_EQ(error_of([&] { read("not xz at all"); }), name + "not an xz file");
  EXPECT_EQ(error_of([&] { read(""); }), name + "the xz stream is cut off");
  EXPECT_EQ(error_of([&] { read(xz.substr(0, xz.size() / 2)); }),
            name + "the xz stream is cut off");
  std::string damaged = xz;
  damaged[damaged.size() / 2] ^= 0x55;
  EXPECT_EQ(error_of([&] { read(damaged); }), name + "the xz stream is damaged");
}

TEST(Xz, AllBytesBeforeADamageAreGiven) {
  const std::string text = "a great film\ntwo hours I will not get back\n";
  std::string damaged = compressed(text);
  damaged[damaged.size() - 8] ^= 0x55;  // in the footer
  for (const size_t capacity : {size_t{1} << 16, text.size(), size_t{3}}) {
    const auto source = decompress_xz(bytes_of_memory(damaged), "x.xz");
    std::string piece(capacity, '\0'), got;
    EXPECT_EQ(error_of([&] {
                while (const size_t size = source->read(piece.data(), capacity)) {
                  got.append(piece, 0, size);
                }
              }),
              "x.xz: the xz stream is damaged");
    EXPECT_EQ(got, text) << capacity;
  }
}

}  // namespace
}  // namespace hone::data

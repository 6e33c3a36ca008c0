#include "data/reading.h"

namespace hone::data {
namespace {

using namespace std::string_literals;

// gzip.compress(b"hello\nworld\n", mtime=0) and of b"second\n".
const std::string kGzip =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\xe7\x2a\xcf\x2f\xca\x49\xe1\x02\x00\xff\x5d\xc5\xc4\x0c\x00\x00\x00"s;
const std::string kSecondGzip =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x4e\x4d\xce\xcf\x4b\xe1\x02\x00\x7e\xc0\x0f\x06\x07\x00\x00\x00"s;

std::string unpacked(std::string_view bytes, size_t piece = 5) {
  const auto source = decompress_gzip(bytes_of_memory(bytes), "file.gz");
  std::string out;
  std::string part(piece, '\0');
  for (size_t got = 0; (got = source->read(part.data(), part.size())) > 0;) {
    out.append(part, 0, got);
  }
  EXPECT_EQ(source->read(part.data(), part.size()), 0u);
  return out;
}

TEST(Gzip, IsUnpackedInAnyPieces) {
  for (const size_t piece : {1, 5, 100}) EXPECT_EQ(unpacked(kGzip, piece), "hello\nworld\n");
}

TEST(Gzip, SeveralMembersAreOneText) {
  EXPECT_EQ(unpacked(kGzip + kSecondGzip + kGzip), "hello\nworld\nsecond\nhello\nworld\n");
}

TEST(Gzip, WhatIsCutOffOrDamagedIsAnErrorThatNamesTheFile) {
  for (size_t size = 1; size < kGzip.size(); ++size) {
    EXPECT_EQ(error_of([&] { unpacked(kGzip.substr(0, size)); }),
              "file.gz: the gzip stream is cut off");
  }
  EXPECT_EQ(error_of([] { unpacked(""); }), "file.gz: not a gzip file");
  EXPECT_EQ(error_of([] { unpacked("hello\nworld\n"); }), "file.gz: not a gzip file");
  std::string damaged = kGzip;
  damaged[damaged.size() - 6] ^= 1;  // a byte of the checksum
  EXPECT_EQ(error_of([&] { unpacked(damaged); }), "file.gz: the gzip stream is damaged");
}

TEST(Gzip, ANameInGzIsUnpackedAndItsFormatIsBelow) {
  const TemporaryFolder folder;
  const auto records = open_records(folder.write("lines.txt.gz", kGzip), {});
  EXPECT_EQ(records_of(*records).size(), 2u);
  EXPECT_EQ(format_of("a.jsonl.gz"), Format::jsonl);
  EXPECT_EQ(format_of("a.csv.gz"), Format::csv);
}

}  // namespace
}  // namespace hone::data

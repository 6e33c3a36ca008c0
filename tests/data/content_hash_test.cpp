#include "data/content_hash.h"

#include "data/reading.h"

namespace hone::data {
namespace {

std::string hash_of(std::string_view bytes) {
  ContentHash hash;
  hash.bytes(bytes.data(), bytes.size());
  return hex(hash.value());
}

TEST(ContentHash, IsMurmur3) {
  EXPECT_EQ(hash_of(""), "00000000000000000000000000000000");
  EXPECT_EQ(hash_of("hello"), "cbd8a7b341bd9b025b1e906a48ae1d19");
  EXPECT_EQ(hash_of("The quick brown fox jumps over the lazy dog"),
            "e34bbc7bbc071b6c7a433ca9c49a9347");
}

TEST(ContentHash, PiecesDoNotCount) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * 37);
  for (size_t length = 0; length <= bytes.size(); ++length) {
    const std::string_view whole = std::string_view(bytes).substr(0, length);
    for (size_t piece = 1; piece < 40; ++piece) {
      ContentHash hash;
      for (size_t at = 0; at < length; at += piece) {
        const std::string_view part = whole.substr(at, piece);
        hash.bytes(part.data(), part.size());
      }
      ASSERT_EQ(hex(hash.value()), hash_of(whole)) << length << " in pieces of " << piece;
    }
  }
}

TEST(ContentHash, TextsDoNotFlowIntoOneAnother) {
  ContentHash a, b;
  a.text("ab");
  a.text("c");
  b.text("a");
  b.text("bc");
  EXPECT_NE(a.value(), b.value());
}

TEST(ContentHash, FilesByContents) {
  const TemporaryFolder folder;
  const std::string large(3'000'001, 'x');
  ContentHash file, text;
  file.file(folder.write("large", large));
  text.text(large);
  EXPECT_EQ(file.value(), text.value());
  ContentHash empty;
  empty.file(folder.write("empty", ""));
  EXPECT_NE(empty.value(), ContentHash().value());
  EXPECT_EQ(error_of([&] { ContentHash().file(folder.path() + "/none"); }),
            folder.path() + "/none: cannot open: No such file or directory");
}

}  // namespace
}  // namespace hone::data

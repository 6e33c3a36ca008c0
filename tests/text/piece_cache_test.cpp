#include "text/piece_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace hone::text {
namespace {

TEST(PieceCache, KeysDifferWhereWordsDo) {
  std::map<PieceCache::Key, std::pair<std::string, bool>> seen;
  for (size_t size = 0; size <= PieceCache::max_bytes; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (const char c : {'\0', 'b', '\xFF'}) {
        for (const bool kind : {false, true}) {
          std::string word(size, 'a');
          word[at] = c;
          const auto [found, added] =
              seen.emplace(PieceCache::key_of(word, kind), std::pair(word, kind));
          EXPECT_TRUE(added) << word << " and " << found->second.first;
        }
      }
    }
  }
}

/// Many more words than there is room for: what is found is right, and most recent words are.
TEST(PieceCache, ForgetsButNeverConfuses) {
  PieceCache cache;
  std::mt19937 random(1);
  std::vector<std::string> words(200000);
  int found_again = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = std::to_string(i * 2654435761U % 1000000007U);
    const auto size = static_cast<uint32_t>(words[i].size());
    const auto id = static_cast<int32_t>(i);
    const Piece pieces[] = {{id, 0, 1}, {-id, 1, size}};
    const bool split = size > 1 && i % 2 == 0;
    const Piece whole{id, 0, size};
    cache.insert(PieceCache::key_of(words[i], false), split ? pieces : &whole,
                 split ? pieces + 2 : &whole + 1);
    const size_t back = random() % std::min<size_t>(i + 1, 1000);
    std::vector<Piece> out;
    if (!cache.find(PieceCache::key_of(words[i - back], false), out)) continue;
    ++found_again;
    ASSERT_EQ(out[0].id, static_cast<int32_t>(i - back));
    ASSERT_EQ(out.back().end, words[i - back].size());
    ASSERT_EQ(out.size(), words[i - back].size() > 1 && (i - back) % 2 == 0 ? 2U : 1U);
    ASSERT_FALSE(cache.find(PieceCache::key_of(words[i - back], true), out));
  }
  EXPECT_GT(found_again, 190000);
}

TEST(PieceCache, LeavesOutWhatDoesNotFit) {
  PieceCache cache;
  std::vector<Piece> out;
  const auto key = PieceCache::key_of("abcd", false);
  const auto keeps = [&](const std::vector<Piece>& pieces) {
    cache.insert(key, pieces.data(), pieces.data() + pieces.size());
    return cache.find(key, out);
  };
  EXPECT_FALSE(keeps({}));
  EXPECT_FALSE(keeps({{1, 0, 3}})) << "not to the end";
  EXPECT_FALSE(keeps({{1, 0, 1}, {1, 2, 4}})) << "a gap";
  EXPECT_FALSE(keeps({{1, 0, 4}, {2, 0, 4}})) << "the bytes of a fallback";
  EXPECT_FALSE(keeps({{1, 0, 1}, {1, 1, 2}, {1, 2, 3}, {1, 3, 4}}));
  EXPECT_TRUE(keeps({{1, 0, 1}, {2, 1, 3}, {3, 3, 4}}));
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[1].id, 2);
  EXPECT_EQ(out[1].begin, 1U);
  EXPECT_EQ(out[2].end, 4U);
}

}  // namespace
}  // namespace hone::text

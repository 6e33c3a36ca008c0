#include "text/words.h"
#include "text/stop_words.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/tokenizer.h"

namespace hone::text {
namespace {

Tokenizer word_tokenizer(std::string_view vocabulary) {
  return Tokenizer(build_word_tokenizer(vocabulary, "vocabulary.txt"));
}

std::vector<std::string> found_words(const std::string& text) {
  WordCounter counter;
  counter.add(text);
  return counter.commonest(100);
}

using Listed = std::vector<std::string>;

TEST(Words, AreRunsOfLettersAndApostrophesInLowerCase) {
  EXPECT_EQ(found_words("Good FILM,film;film"), (Listed{"film", "good"}));
  EXPECT_EQ(found_words("don't stop123go _x_ it's 42"), (Listed{"don't", "go", "stop", "x"}));
  EXPECT_EQ(found_words("'quoted' ''' rock'n'roll'"), (Listed{"quoted", "rock'n'roll"}));
  EXPECT_EQ(found_words("Don\u02bct don\u2019t"), (Listed{"don't"}));
  EXPECT_EQ(found_words("Don\u2019t \u00c9T\u00c9 na\u00efve \u6620\u753b"),
            (Listed{"don't", "na\u00efve", "\u00e9t\u00e9", "\u6620\u753b"}));
  EXPECT_EQ(found_words("<br />bad\xff"
                        "film"),
            (Listed{"bad", "film"}));
  EXPECT_EQ(found_words("the of and I"), Listed{});
  EXPECT_EQ(found_words(""), Listed{});
}

TEST(Words, LeaveStopWordsOutButNoNegation) {
  for (const char* word : {"a", "the", "yourselves", "it's"}) EXPECT_TRUE(is_stop_word(word));
  for (const char* word : {"not", "no", "nor", "don't", "never", "thee", "", "zebra"}) {
    EXPECT_FALSE(is_stop_word(word)) << word;
  }
}

TEST(Words, OfAVocabularyWithStopWordsAreAllRead) {
  EXPECT_EQ(word_tokenizer("film\ngood\n").encode({"the good film of it", {}}).ids,
            (std::vector<int32_t>{3, 2}));
  EXPECT_EQ(word_tokenizer("film\nthe\n").encode({"the good film of it", {}}).ids,
            (std::vector<int32_t>{3, kUnknownWord, 2, kUnknownWord, kUnknownWord}));
}

TEST(Words, CommonestComeFirstAndOfEqualOnesTheFirst) {
  WordCounter counter;
  counter.add("pear apple fig");
  counter.add("fig plum apple fig");
  EXPECT_EQ(counter.commonest(3), (Listed{"fig", "apple", "pear"}));
  EXPECT_EQ(counter.commonest(9), (Listed{"fig", "apple", "pear", "plum"}));
  EXPECT_EQ(counter.commonest(0), Listed{});
}

TEST(Words, BecomeIdsWithTheirPlacesInTheText) {
  const Tokenizer tokenizer = word_tokenizer("film\ngood\ndon't\n");
  EXPECT_EQ(tokenizer.id_end(), 5);
  const Encoding encoding = tokenizer.encode({"Don\u2019t: the GOOD \u00e9t\u00e9 film", {}});
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{4, 3, kUnknownWord, 2}));
  EXPECT_EQ(encoding.offsets, (std::vector<Span>{{0, 5}, {11, 15}, {16, 19}, {20, 24}}));
  EXPECT_EQ(tokenizer.token(encoding, 0), "don't");
  EXPECT_EQ(tokenizer.token_of(kPadWord), "<pad>");
  EXPECT_EQ(tokenizer.token(encoding, 2), "<unk>");
  EXPECT_TRUE(tokenizer.encode({"", {}}).ids.empty());
  EXPECT_TRUE(tokenizer.encode({"<pad>", {}}).ids == std::vector<int32_t>{kUnknownWord});
}

TEST(Words, OfABadVocabularyAreRefused) {
  const auto refused = [](const char* vocabulary, const char* why) {
    try {
      build_word_tokenizer(vocabulary, "vocabulary.txt");
      ADD_FAILURE() << vocabulary;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), why);
    }
  };
  refused("a\n\nb\n", "vocabulary.txt: line 2: expected a word, got ''");
  refused("a\nb\na\n", "vocabulary.txt: line 3: 'a' stands in line 1 already");
  refused("<unk>\n", "vocabulary.txt: line 1: expected a word, got '<unk>'");
  refused("a\xff\n", "vocabulary.txt: not valid UTF-8");
  EXPECT_EQ(word_tokenizer("").id_end(), kFirstWord);
  EXPECT_EQ(word_tokenizer("a\r\nb").id_of("b"), kFirstWord + 1);
}

}  // namespace
}  // namespace hone::text

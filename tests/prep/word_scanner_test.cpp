#include "prep/word_scanner.h"

#include <set>

#include "base/utf8.h"
#include "prep/dictionary.h"
#include "prep/prep_fixture.h"
#include "prep/stop_words.h"
#include "text/stop_words.h"
#include "text/words.h"

namespace hone::prep {
namespace {

std::string words_of(std::string_view text) {
  WordScanner scanner;
  scanner.set_text(text);
  std::string words;
  scanner.scan([&](const char* word, size_t size) { words += std::string(word, size) + "|"; });
  return words;
}

TEST(WordScanner, WordsAreLettersAndApostrophesInLowerCase) {
  EXPECT_EQ(words_of(""), "");
  EXPECT_EQ(words_of("  ..1 2"), "");
  EXPECT_EQ(words_of("A great FILM, don't miss it!"), "a|great|film|don't|miss|it|");
  EXPECT_EQ(words_of("'quoted' ''x'' ' '' o'clock"), "quoted|x|o'clock|");
  EXPECT_EQ(words_of("10x faster_than C3PO<br />it"), "x|faster|than|c|po|br|it|");
  EXPECT_EQ(words_of(std::string("a\0b", 3)), "a|b|");
}

TEST(WordScanner, OtherScriptsAndQuotes) {
  EXPECT_EQ(words_of("Caf\u00c9 don\u2019t \u201cHi\u201d"), "caf\u00e9|don't|hi|");
  EXPECT_EQ(words_of("\u0130x"), "i\u0307x|");  // two code points
  EXPECT_EQ(words_of("\u0391\u0392\u03a3 \u4f60\u597d\u3002\u597d"),
            "\u03b1\u03b2\u03c3|\u4f60\u597d|\u597d|");
  EXPECT_EQ(words_of("a\xff"
                     "b \xe2\x82 c\xc3"),
            "a|b|c|");                                   // no UTF-8
  EXPECT_EQ(words_of("x\u00b2\u0663y \u203f"), "x|y|");  // digits and connectors
}

/// A scanner of one byte at a time.
std::string plain_words(std::string_view text) {
  std::string words;
  std::string word;
  const auto end = [&] {
    while (!word.empty() && word.front() == '\'') word.erase(0, 1);
    while (!word.empty() && word.back() == '\'') word.pop_back();
    if (!word.empty()) words += word + "|";
    word.clear();
  };
  for (char c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if ((c >= 'a' && c <= 'z') || c == '\'') {
      word += c;
    } else {
      end();
    }
  }
  end();
  return words;
}

TEST(WordScanner, BlocksOfBytesGiveWhatSingleBytesGive) {
  uint64_t seed = 7;
  for (size_t size = 0; size < 400; ++size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) {
      seed = seed * 6364136223846793005 + 1;
      text += " abzAZ@[`{'.\n\x01~"[(seed >> 33) % 16];
    }
    ASSERT_EQ(words_of(text), plain_words(text)) << text;
  }
  const std::string letters(1000, 'q');
  EXPECT_EQ(words_of(letters), letters + "|");
}

TEST(CleanText, DropsStopWordsAndSpellsWhatTheDictionaryLacks) {
  const Dictionary dictionary({"film", "great", "extraordinarily-long"}, stop_words("english"));
  CleanText clean(dictionary);
  clean.clean("The film was a GREAT, great thing; incomprehensibilities aren't x.");
  EXPECT_EQ(clean.text(), "film great great thing incomprehensibilities aren't x");
  std::string again;
  append_words(dictionary, clean.codes(), again);
  EXPECT_EQ(again, clean.text());
  EXPECT_EQ(clean.codes()[0], 0);
  EXPECT_EQ(clean.codes()[1], 1);
  EXPECT_EQ(clean.codes()[3], Dictionary::kSpelled);
  clean.clean("It was the, and i'm");
  EXPECT_TRUE(clean.empty());
  EXPECT_TRUE(clean.codes().empty());
}

TEST(CleanText, NegationsStay) {
  const Dictionary dictionary({}, stop_words("english"));
  CleanText clean(dictionary);
  clean.clean("I don't, can't, won't; no, not, nor never!");
  EXPECT_EQ(clean.text(), "don't can't won't no not nor never");
}

TEST(CleanText, CodesThatBreakOffEndAWalk) {
  const Dictionary dictionary({}, std::vector<std::string>());
  CleanText clean(dictionary);
  clean.clean("word");
  for (size_t size = 0; size < clean.codes().size(); ++size) {
    std::string words;
    append_words(dictionary, clean.codes().first(size), words);
    EXPECT_EQ(words, "");
  }
}

TEST(WordTable, FindsWordsOfEverySize) {
  std::vector<std::string> words;
  for (size_t size = 1; size < 40; ++size) {
    words.push_back(std::string(size, 'a'));
    words.push_back(std::string(size - 1, 'a') + 'b');
    words.push_back('b' + std::string(size, 'a'));
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  WordTable table(words.size());
  for (size_t i = 0; i < words.size(); i += 2) table.add(words[i], static_cast<uint32_t>(i));
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string padded = words[i] + std::string(WordTable::kShort, 'z');
    const uint32_t expected = i % 2 == 0 ? static_cast<uint32_t>(i) : WordTable::kAbsent;
    EXPECT_EQ(table.find(padded.data(), words[i].size()), expected) << words[i];
  }
}

TEST(StopWords, ComeFromAFile) {
  const PrepFolder folder;
  EXPECT_EQ(stop_words(folder.put("stop.txt", "film\n\nplot\n")),
            (std::vector<std::string>{"film", "plot"}));
  EXPECT_TRUE(stop_words("none").empty());
  EXPECT_NE(message_of([&] { stop_words(folder / "nothing"); }).find("nothing: cannot open"),
            std::string::npos);
}

TEST(WordScanner, FindsTheWordsThatAWordModelReads) {
  // What prep cleans an LSTM reads as ids, so both must find the same words.
  const auto model = [](std::string_view text) {
    text::WordCounter counter;
    counter.add(text);
    return counter.commonest(1000);
  };
  uint64_t seed = 7;
  const auto below = [&](uint64_t end) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return (seed >> 33) % end;
  };
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t i = 0; i < 1 + below(30); ++i) {
      const uint64_t kind = below(4);
      if (kind == 0) append_utf8(static_cast<char32_t>(0x80 + below(0x3000)), text);
      if (kind == 1) text += std::string_view("aB' Z9_\xff\n.Iit")[below(13)];
      if (kind == 2) text += "the don\u2019t \u02bc\u0130\u1e9e\u00aa\u2160"[below(20)];
      if (kind == 3) append_utf8(static_cast<char32_t>(0x10000 + below(0x10000)), text);
    }
    std::set<std::string> scanned;
    const std::string words = words_of(text);
    for (size_t at = 0; at < words.size(); at = words.find('|', at) + 1) {
      const std::string word = words.substr(at, words.find('|', at) - at);
      if (!text::is_stop_word(word)) scanned.insert(word);
    }
    const std::vector<std::string> read = model(text);
    EXPECT_EQ(scanned, std::set<std::string>(read.begin(), read.end())) << text;
  }
}

}  // namespace
}  // namespace hone::prep

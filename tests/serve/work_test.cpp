#include "serve/work.h"

#include <gtest/gtest.h>

#include "serve/errors.h"

namespace hone::serve {
namespace {

TEST(TextStore, WhatIsKeptStaysWhereItIs) {
  TextStore store(10);
  std::vector<std::string_view> kept;
  std::vector<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    expected.push_back(std::string(static_cast<size_t>(i % 97), static_cast<char>('a' + i % 26)));
    kept.push_back(store.keep(expected.back(), i % 3 == 0 ? "pre" : ""));
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i], (i % 3 == 0 ? "pre" : "") + expected[i]);
  }
}

TEST(WorkReader, CountsCodePointsAndRefusesWhatIsTooMuch) {
  WorkReader reader(0, 2);
  reader.add("é", "a");
  reader.add_pair("日本", "x", "b");
  EXPECT_THROW(reader.add("c", "c"), RequestError);
  const Work work = reader.take("inputs");
  EXPECT_EQ(work.characters, 4);
  EXPECT_EQ(work.size(), 2u);
  EXPECT_EQ(work.inputs[1].pair, "x");
}

TEST(WorkReader, APromptComesBeforeATextAndBeforeThePairsFirst) {
  WorkReader reader(0, 8);
  reader.set_prompt("query: ");
  reader.add("a", "a");
  reader.add_pair("b", "c", "b");
  const Work work = reader.take("inputs");
  EXPECT_EQ(work.inputs[0].text, "query: a");
  EXPECT_EQ(work.inputs[1].text, "query: b");
  EXPECT_EQ(work.inputs[1].pair, "c");
}

}  // namespace
}  // namespace hone::serve

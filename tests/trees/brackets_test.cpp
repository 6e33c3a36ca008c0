#include "trees/brackets.h"

#include <gtest/gtest.h>

#include "trees/leaf.h"

namespace hone::trees {
namespace {

std::vector<Tree> trees_of(const std::vector<std::string>& lines) {
  BracketReader reader;
  std::vector<Tree> trees;
  for (const std::string& line : lines) EXPECT_EQ(reader.take(line, trees), "");
  EXPECT_FALSE(reader.open());
  return trees;
}

std::string problem_of(const std::string& line) {
  BracketReader reader;
  std::vector<Tree> trees;
  return reader.take(line, trees);
}

using Words = std::vector<std::string>;
using Constituents = std::vector<Constituent>;

TEST(Brackets, GiveWordsAndConstituentsInTheirOrder) {
  const auto trees = trees_of({"(S (NP (DT The) (NN film)) (VP (VBZ works) (. .)))"});
  ASSERT_EQ(trees.size(), 1u);
  EXPECT_EQ(trees[0].words, (Words{"The", "film", "works", "."}));
  EXPECT_EQ(trees[0].constituents, (Constituents{{0, 4, "S"}, {0, 2, "NP"}, {2, 4, "VP"}}));
  EXPECT_EQ(trees[0].text(), "The film works .");
}

TEST(Brackets, OfSeveralLinesATreeAndSeveralTreesALine) {
  const auto trees =
      trees_of({"( (S (NP (DT a)", "", "\t(NN b)) (VP c)", ")) (3 (2 d)", "(1 e)) (2 f)"});
  ASSERT_EQ(trees.size(), 3u);
  EXPECT_EQ(trees[0].words, (Words{"a", "b", "c"}));
  EXPECT_EQ(trees[0].constituents, (Constituents{{0, 3, "S"}, {0, 2, "NP"}}));
  EXPECT_EQ(trees[1].constituents, (Constituents{{0, 2, "3"}}));
  EXPECT_EQ(trees[2].words, Words{"f"});
  EXPECT_TRUE(trees[2].constituents.empty());
}

TEST(Brackets, ChainsOfNodesAreOneConstituent) {
  const auto trees = trees_of({"(ROOT (S (VP (VP (VB go) (RB on)) (-NONE- *T*))))"});
  EXPECT_EQ(trees.at(0).constituents, (Constituents{{0, 2, "VP"}}));
}

TEST(Brackets, EmptyNodesAndTracesAreLeftOut) {
  const auto trees = trees_of(
      {"(S (NP-1 (-NONE- *)) (NP (-NONE- (X 0) y)) (VP (VB to) (VP (VB go) (NP))) (WP who))"});
  EXPECT_EQ(trees.at(0).words, (Words{"to", "go", "who"}));
  EXPECT_EQ(trees[0].constituents, (Constituents{{0, 3, "S"}, {0, 2, "VP"}}));
}

TEST(Brackets, EscapesAreUndoneAndWritten) {
  const auto trees = trees_of({"(X (A -LRB-) (B and\\/or) (C \\*\\*) (D -RRB-) (E a-LSB-b))"});
  EXPECT_EQ(trees.at(0).words, (Words{"(", "and/or", "**", ")", "a[b"}));
  EXPECT_EQ(brackets_of(trees[0]), "(X -LRB- and/or ** -RRB- a[b)");
  EXPECT_EQ(trees_of({brackets_of(trees[0])}), trees);
}

TEST(Brackets, AreWrittenAsTheyAreRead) {
  for (const char* text : {"(S (NP the film) works)", "(S a (X (Y b c) d) (Z e f))", "(X one)",
                           "(3 (2 (1 a b) c) (0 d e))"}) {
    EXPECT_EQ(brackets_of(trees_of({text}).at(0)), text);
  }
}

TEST(Brackets, APartHasItsOwnWords) {
  const Tree tree = trees_of({"(S a (X (Y b c) d) (Z e f))"}).at(0);
  EXPECT_EQ(brackets_of(tree.part(1, 4)), "(X (Y b c) d)");
  EXPECT_EQ(brackets_of(tree.part(4, 5)), "(X e)");
}

TEST(Brackets, WhatIsWrongIsSaid) {
  EXPECT_EQ(problem_of("(S a))"), "column 6: a bracket closes nothing");
  EXPECT_EQ(problem_of("  word"), "column 3: text outside of brackets");
  EXPECT_EQ(problem_of("(S (NP (-NONE- *)))"), "column 19: a tree without words");
  EXPECT_EQ(problem_of(std::string(5000, '(')), "column 1001: more than 1000 brackets are open");
  std::string many = "(S";
  for (int i = 0; i < 4097; ++i) many += " w";
  EXPECT_EQ(problem_of(many), "column 8196: more than 4096 words in one tree");
  EXPECT_EQ(problem_of("(S " + std::string(1 << 20, 'w') + ")"),
            "column 4: more than 1048576 bytes in one tree");
  BracketReader reader;
  std::vector<Tree> trees;
  EXPECT_EQ(reader.take("(S (NP a", trees), "");
  EXPECT_TRUE(reader.open());
}

}  // namespace
}  // namespace hone::trees

#include "trees/tree_index.h"

#include <gtest/gtest.h>

#include "trees/brackets.h"

namespace hone::trees {
namespace {

Tree tree_of(const std::string& brackets) {
  BracketReader reader;
  std::vector<Tree> trees;
  EXPECT_EQ(reader.take(brackets, trees), "");
  return trees.at(0);
}

std::string found(const TreeIndex& index, std::string_view text) {
  const auto tree = index.find(text);
  return tree ? brackets_of(*tree) : "none";
}

TEST(TreeIndex, FindsTreesConstituentsAndWordsByTheirText) {
  TreeIndex index;
  index.add(tree_of("(S (NP It) (VP (V 's) (NP (DT a) (JJ Fine) (NN film))))"));
  EXPECT_EQ(found(index, "It 's a Fine film"), "(S It (VP 's (NP a Fine film)))");
  EXPECT_EQ(found(index, "a fine film "), "(NP a Fine film)");
  EXPECT_EQ(found(index, "IT"), "(X It)");
  EXPECT_EQ(found(index, "a fine"), "none");
  EXPECT_EQ(found(index, ""), "none");
  EXPECT_EQ(found(index, " "), "none");
}

TEST(TreeIndex, SpacesCaseAndStyleOfQuotesDoNotCount) {
  TreeIndex index;
  index.add(tree_of("(S (X `` \xC3\x89t\xC3\xA9 '') do n't -LRB- stop -RRB-)"));
  const std::string whole = "(S (X `` \xC3\x89t\xC3\xA9 '') do n't -LRB- stop -RRB-)";
  EXPECT_EQ(found(index, "\"\xC3\xA9T\xC3\xA9\" don't (stop)"), whole);
  EXPECT_EQ(found(index, "\xE2\x80\x9C\xC3\xA9t\xC3\xA9\xE2\x80\x9D don\xE2\x80\x99t ( stop )"),
            whole);
  EXPECT_EQ(found(index, "ete don't (stop)"), "none");
}

TEST(TreeIndex, AWholeTreeComesBeforeAConstituent) {
  TreeIndex index;
  index.add(tree_of("(S (A (B a b) c) d)"));
  index.add(tree_of("(S a (B b c))"));
  index.add(tree_of("(S (B a b) c)"));
  EXPECT_EQ(found(index, "a b c"), "(S a (B b c))");
  EXPECT_EQ(found(index, "a b"), "(B a b)");
}

}  // namespace
}  // namespace hone::trees

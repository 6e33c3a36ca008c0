// What a memory budget is spent on.
#include "infer/memory_budget.h"

#include <gtest/gtest.h>

namespace hone::infer {
namespace {

constexpr int64_t kLongest = 100, kMost = 1000;

constexpr auto batch = [](int64_t tokens) { return static_cast<uint64_t>(tokens); };

TEST(ShareOut, KeepsAllMatricesWhereTheyFitBesideTheLongestText) {
  const MatrixBytes matrices{.all = 500, .repeated = 0, .wide = 100};
  const BudgetShares tight = share_out(600, matrices, kLongest, kMost, batch);
  EXPECT_EQ(tight.tokens, kLongest);
  EXPECT_EQ(tight.resident, 500u);
  EXPECT_FALSE(tight.wide) << "nothing comes and goes";
  const BudgetShares roomy = share_out(1200, matrices, kLongest, kMost, batch);
  EXPECT_GE(roomy.resident, 500u);
  EXPECT_GT(roomy.tokens, 500);
  EXPECT_LE(roomy.resident + batch(roomy.tokens), 1200u);
}

TEST(ShareOut, GivesABatchMoreThanSomeOfTheMatrices) {
  const MatrixBytes matrices{.all = 5000, .repeated = 0, .wide = 100};
  const BudgetShares shares = share_out(1100, matrices, kLongest, kMost, batch);
  EXPECT_EQ(shares.tokens, kMost);
  EXPECT_TRUE(shares.wide);
  EXPECT_EQ(shares.resident, 0u);
}

TEST(ShareOut, KeepsThoseThatAPassRepeatsBeforeALargeBatch) {
  const MatrixBytes matrices{.all = 5000, .repeated = 700, .wide = 0};
  const BudgetShares shares = share_out(1000, matrices, kLongest, kMost, batch);
  EXPECT_GE(shares.resident, 700u);
  EXPECT_LE(shares.tokens, 300);
  EXPECT_EQ(share_out(750, matrices, kLongest, kMost, batch).tokens, 669) << "they do not fit";
}

TEST(ShareOut, SpendsAThirdOfTheTokensOnWideWindowsAndNoMore) {
  const auto wide = [](uint64_t bytes, uint64_t room) {
    return share_out(room, {.all = 5000, .repeated = 0, .wide = bytes}, kLongest, kMost, batch);
  };
  EXPECT_TRUE(wide(300, 1000).wide);
  EXPECT_LE(wide(300, 1000).tokens, 700);
  EXPECT_GE(wide(330, 1000).tokens, 666);
  EXPECT_FALSE(wide(400, 1000).wide);
  EXPECT_EQ(wide(400, 1000).tokens, 1000);
  EXPECT_FALSE(wide(10, kLongest).wide) << "the longest text comes first";
  EXPECT_EQ(wide(10, kLongest).tokens, kLongest);
  EXPECT_EQ(wide(10, kLongest).resident, 0u);
}

}  // namespace
}  // namespace hone::infer

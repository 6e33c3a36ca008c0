// What a memory budget is spent on.
#include "infer/memory_budget.h"

#include <gtest/gtest.h>

namespace hone::infer {
namespace {

constexpr int64_t kLongest = 100, kMost = 1000;

constexpr auto bytes_of_batch = [](int64_t tokens) { return static_cast<uint64_t>(tokens); };

TEST(ShareOut, KeepsAllMatricesWhereTheyFitBesideTheLongestText) {
  const MatrixBytes matrices{.all = 500, .repeated = 0, .huge_page_extra = 100};
  const BudgetShares tight = share_out(600, matrices, kLongest, kMost, bytes_of_batch);
  EXPECT_EQ(tight.tokens, kLongest);
  EXPECT_EQ(tight.resident, 500u);
  EXPECT_FALSE(tight.huge_pages) << "nothing comes and goes";
  const BudgetShares roomy = share_out(1200, matrices, kLongest, kMost, bytes_of_batch);
  EXPECT_GE(roomy.resident, 500u);
  EXPECT_GT(roomy.tokens, 500);
  EXPECT_LE(roomy.resident + bytes_of_batch(roomy.tokens), 1200u);
}

TEST(ShareOut, GivesABatchMoreThanSomeOfTheMatrices) {
  const MatrixBytes matrices{.all = 5000, .repeated = 0, .huge_page_extra = 100};
  const BudgetShares shares = share_out(1100, matrices, kLongest, kMost, bytes_of_batch);
  EXPECT_EQ(shares.tokens, kMost);
  EXPECT_TRUE(shares.huge_pages);
  EXPECT_EQ(shares.resident, 0u);
}

TEST(ShareOut, KeepsThoseThatAPassRepeatsBeforeALargeBatch) {
  const MatrixBytes matrices{.all = 5000, .repeated = 700, .huge_page_extra = 0};
  const BudgetShares shares = share_out(1000, matrices, kLongest, kMost, bytes_of_batch);
  EXPECT_GE(shares.resident, 700u);
  EXPECT_LE(shares.tokens, 300);
  EXPECT_EQ(share_out(750, matrices, kLongest, kMost, bytes_of_batch).tokens, 669)
      << "they do not fit";
}

TEST(ShareOut, SpendsAThirdOfTheTokensOnHugePagesAndNoMore) {
  const auto with_extra = [](uint64_t bytes, uint64_t room) {
    return share_out(room, {.all = 5000, .repeated = 0, .huge_page_extra = bytes}, kLongest, kMost,
                     bytes_of_batch);
  };
  EXPECT_TRUE(with_extra(300, 1000).huge_pages);
  EXPECT_LE(with_extra(300, 1000).tokens, 700);
  EXPECT_GE(with_extra(330, 1000).tokens, 666);
  EXPECT_FALSE(with_extra(400, 1000).huge_pages);
  EXPECT_EQ(with_extra(400, 1000).tokens, 1000);
  EXPECT_FALSE(with_extra(10, kLongest).huge_pages) << "the longest text comes first";
  EXPECT_EQ(with_extra(10, kLongest).tokens, kLongest);
  EXPECT_EQ(with_extra(10, kLongest).resident, 0u);
}

}  // namespace
}  // namespace hone::infer

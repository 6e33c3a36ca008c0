#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/ranks.h"
#include "comm/tree_sum.h"

namespace hone::comm {
namespace {

std::vector<float> numbers(int rank, int64_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) * 7919 + static_cast<unsigned>(count));
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 20) - 40);
  }
  return values;
}

/// What the sum over ranks must be, to the bit: halves of the largest power of two first.
float sum_in_tree(const std::vector<std::vector<float>>& all, size_t i, int begin, int end) {
  if (end - begin == 1) return all[static_cast<size_t>(begin)][i];
  int half = 1;
  while (2 * half < end - begin) half *= 2;
  return sum_in_tree(all, i, begin, begin + half) + sum_in_tree(all, i, begin + half, end);
}

std::vector<float> sum_of(const std::vector<std::vector<float>>& all) {
  std::vector<float> sum(all[0].size());
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] = sum_in_tree(all, i, 0, static_cast<int>(all.size()));
  }
  return sum;
}

void expect_same_bits(const float* got, const std::vector<float>& wanted) {
  EXPECT_TRUE(wanted.empty() || std::memcmp(got, wanted.data(), wanted.size() * sizeof(float)) == 0)
      << wanted.size() << " floats";
}

TEST(Communicator, OneProcessAloneHasItsOwnSums) {
  Communicator alone;
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.size(), 1);
  auto* window = static_cast<float*>(alone.window(8 * sizeof(float)));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(window[i], 0);
    window[i] = static_cast<float>(i);
  }
  alone.wait(alone.start_sum(window, 8));
  EXPECT_EQ(window[7], 7);
  EXPECT_EQ(alone.gather("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(alone.broadcast("text"), "text");
  EXPECT_TRUE(alone.any(true));
  EXPECT_FALSE(alone.any(false));
  alone.barrier();
  agree(alone, {{"version", "1"}});
}

constexpr int64_t kCounts[] = {0, 1, 15, 17, 1000, 300'001};

/// A digit for each rank, which says on which host it is; one host alone has no link.
class Ranks : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string places_ = GetParam();
  const int size_ = static_cast<int>(places_.size());
  const bool one_host_ = places_.find_first_not_of('1') == std::string::npos;

  std::string host_of(int rank) const { return {'n', places_[static_cast<size_t>(rank)]}; }
  RankOptions options() const {
    RankOptions options;
    for (int rank = 0; rank < size_ && !one_host_; ++rank) options.hosts.push_back(host_of(rank));
    return options;
  }
  /// What the sum must be, to the bit: over the ranks of each host, and then over hosts.
  std::vector<float> expected_sum(int64_t count) const {
    std::vector<std::string> names;
    std::vector<std::vector<std::vector<float>>> groups;
    for (int rank = 0; rank < size_; ++rank) {
      const auto found = std::find(names.begin(), names.end(), host_of(rank));
      const auto group = static_cast<size_t>(found - names.begin());
      if (found == names.end()) {
        names.push_back(host_of(rank));
        groups.emplace_back();
      }
      groups[group].push_back(numbers(rank, count));
    }
    std::vector<std::vector<float>> sums;
    for (const auto& group : groups) sums.push_back(sum_of(group));
    return sum_of(sums);
  }
};

TEST_P(Ranks, SumsHaveTheBitsOfTheTreeInWindowsAndOutside) {
  const auto body = [&](Communicator& ranks) {
    for (const int64_t count : kCounts) {
      const std::vector<float> own = numbers(ranks.rank(), count);
      const std::vector<float> wanted = expected_sum(count);
      auto* window = static_cast<float*>(ranks.window((own.size() + 3) * sizeof(float)));
      std::copy(own.begin(), own.end(), window + 3);
      std::vector<float> elsewhere = own;
      const auto first = ranks.start_sum(window + 3, count);
      const auto second = ranks.start_sum(elsewhere.data(), count);
      ranks.wait(first);
      expect_same_bits(window + 3, wanted);
      ranks.wait(second);
      expect_same_bits(elsewhere.data(), wanted);
    }
  };
  expect_all_well(run_ranks(size_, body, options()));
}

TEST_P(Ranks, SumsWithoutOverlapAreTheSame) {
  RankOptions plain = options();
  plain.comm.overlap = false;
  expect_all_well(run_ranks(
      size_,
      [&](Communicator& ranks) {
        std::vector<std::vector<float>> each;
        std::vector<Communicator::Ticket> tickets;
        for (int64_t count = 1; count < 40; ++count) each.push_back(numbers(ranks.rank(), count));
        for (auto& data : each) tickets.push_back(ranks.start_sum(data.data(), std::ssize(data)));
        ranks.wait(tickets.back());
        for (auto& data : each) expect_same_bits(data.data(), expected_sum(std::ssize(data)));
        for (const auto ticket : tickets) ranks.wait(ticket);
      },
      plain));
}

TEST_P(Ranks, DoublesBlobsAndBroadcastsReachAll) {
  const int size = size_;
  const auto body = [&](Communicator& ranks) {
    EXPECT_EQ(ranks.size(), size);
    const auto here = places_[static_cast<size_t>(ranks.rank())];
    EXPECT_EQ(ranks.ranks_of_host(), std::count(places_.begin(), places_.end(), here));
    EXPECT_EQ(ranks.rank_of_host(),
              std::count(places_.begin(), places_.begin() + ranks.rank(), here));
    for (int rank = 0; rank < size && !one_host_; ++rank) {
      EXPECT_EQ(ranks.hosts()[static_cast<size_t>(rank)], host_of(rank));
    }
    const auto sign = [](int rank) { return std::string(1, static_cast<char>('a' + rank)); };
    for (int64_t step = 0; step < 3; ++step) {
      ranks.set_step(step);
      std::vector<double> values = {1, static_cast<double>(ranks.rank())};
      ranks.sum(std::span<double>(values));
      EXPECT_EQ(values[0], size);
      EXPECT_EQ(values[1], size * (size - 1) / 2);
      // A rank has nothing to give, another more than is handed over at one time.
      const auto length = [&](int rank) { return static_cast<size_t>(rank) * 700'000; };
      const auto all = ranks.gather(std::string(length(ranks.rank()), sign(ranks.rank())[0]));
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_TRUE(all[static_cast<size_t>(rank)] == std::string(length(rank), sign(rank)[0]));
      }
      const int root = static_cast<int>(step) % size;
      std::string text(2'000'001, sign(ranks.rank())[0]);
      ranks.broadcast(text.data(), text.size(), root);
      EXPECT_TRUE(text == std::string(text.size(), sign(root)[0]));
      EXPECT_EQ(ranks.broadcast(sign(ranks.rank()), root), sign(root));
      EXPECT_TRUE(ranks.any(ranks.rank() == size - 1));
      EXPECT_FALSE(ranks.any(false));
      ranks.barrier();
    }
    EXPECT_GT(ranks.times().busy, 0);
  };
  expect_all_well(run_ranks(size_, body, options()));
}

INSTANTIATE_TEST_SUITE_P(Places, Ranks,
                         ::testing::Values("1", "11", "111", "11111", "12", "1112", "121323"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Agree, NamesFieldBothValuesAndBothRanks) {
  const auto ends = run_ranks(3, [](Communicator& ranks) {
    agree(ranks, {{"version", "0.1"}, {"dtype", "fp32"}});
    agree(ranks, {{"version", "0.1"}, {"dtype", ranks.rank() == 2 ? "bf16" : "fp32"}});
  });
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.code, 1);
    for (const char* part : {"dtype: ranks differ: 'fp32' on rank 0 (", "'bf16' on rank 2 ("}) {
      EXPECT_NE(end.message.find(part), std::string::npos) << end.message;
    }
  }
}

}  // namespace
}  // namespace hone::comm

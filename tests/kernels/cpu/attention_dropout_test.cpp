#include "kernels/cpu/attention_dropout.h"

#include <set>

#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

/// Says for one key what attention_dropout.h says.
bool dropped(const Dropout& dropout, int64_t row, int64_t head, int64_t key) {
  const uint64_t counter = uint64_t(uint32_t(dropout.positions[row])) << 32 | uint64_t(head) << 16 |
                           uint64_t(key / 32) << 1;
  const uint64_t sample = uint64_t(dropout.samples[row]);
  const auto first = philox<7>(dropout.key, sample, counter);
  const auto second = philox<7>(dropout.key, sample, counter + 1);
  const int64_t k = key % 32;
  const int64_t lane = (k >> 3 & 1) << 4 | (k & 1) << 3 | (k >> 1 & 3) << 1 | k >> 4;
  uint32_t drawn = 0;
  for (int i = 0; i < 16; ++i) {
    const uint32_t word = i % 8 < 4 ? first[i % 4] : second[i % 4];
    drawn = drawn << 1 | ((i < 8 ? word : std::rotl(word, 13)) >> lane & 1);
  }
  return drawn > 65535 - uint32_t(std::lround(dropout.p * 65536));
}

TEST(AttentionDropout, WordsAreOfTheKeysInOrder) {
  const int64_t rows = 20;
  for (const float p : {0.1f, 0.5f, 0.9f, 1.0f / 65536, 0.25f}) {
    const DropoutRows with(p, rows);
    for (int64_t row = 0; row < rows; ++row) {
      const AttentionDropout of(with.dropout, row, row % 5);
      for (int64_t group = 0; group < 9; ++group) {
        const uint32_t kept = of.kept(group);
        for (int64_t i = 0; i < 32; ++i) {
          const bool expected = !dropped(with.dropout, row, row % 5, 32 * group + i);
          ASSERT_EQ(kept >> i & 1, expected ? 1u : 0u) << p << " " << row << " " << i;
          ASSERT_EQ(attention_factor(with.dropout, row, row % 5, 32 * group + i),
                    expected ? 1.0f / (1.0f - p) : 0.0f);
        }
      }
    }
  }
}

TEST(AttentionDropout, EveryKeyKeepsItsShareAndPairsTheirs) {
  const int64_t rows = 64, heads = 16, groups = 16, draws = rows * heads * groups;
  for (const float p : {0.1f, 0.3f}) {
    const DropoutRows with(p, rows);
    std::vector<int64_t> alone(32), both(32 * 32);
    for (int64_t i = 0; i < draws; ++i) {
      const AttentionDropout of(with.dropout, i % rows, i / rows % heads);
      const uint32_t kept = of.kept(i / rows / heads);
      for (int a = 0; a < 32; ++a) {
        alone[a] += !(kept >> a & 1);
        for (int b = 0; b < a; ++b) both[32 * a + b] += !(kept >> a & 1) && !(kept >> b & 1);
      }
    }
    for (int a = 0; a < 32; ++a) {
      EXPECT_NEAR(double(alone[a]) / draws, p, 5 * std::sqrt(p * (1 - p) / draws)) << a;
      for (int b = 0; b < a; ++b) {
        const double expected = double{p} * p;
        EXPECT_NEAR(double(both[32 * a + b]) / draws, expected,
                    5 * std::sqrt(expected * (1 - expected) / draws))
            << a << " " << b;
      }
    }
  }
}

TEST(AttentionDropout, DependsOnEveryPartOfTheKey) {
  std::set<uint32_t> words;
  for (const int64_t sample : {3, 4}) {
    for (const int32_t position : {0, 1}) {
      for (const uint64_t key : {1, 2}) {
        const Dropout dropout{.p = 0.5f, .key = key, .samples = &sample, .positions = &position};
        for (const int64_t head : {0, 1}) {
          for (const int64_t group : {0, 1}) {
            words.insert(AttentionDropout(dropout, 0, head).kept(group));
          }
        }
      }
    }
  }
  EXPECT_EQ(words.size(), 32u);
}

}  // namespace
}  // namespace hone::kernels

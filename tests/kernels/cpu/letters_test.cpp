#include "kernels/cpu/letters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {
namespace {

void check_letters(const std::vector<uint8_t>& text) {
  const auto blocks = static_cast<int64_t>(text.size() / 64);
  std::vector<uint8_t> lower(text.size());
  std::vector<uint64_t> bits(static_cast<size_t>(blocks));
  const bool any = std::any_of(text.begin(), text.end(), [](uint8_t byte) { return byte > 0x7f; });
  EXPECT_EQ(letters(text.data(), blocks, lower.data(), bits.data()), any);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool capital = text[i] >= 'A' && text[i] <= 'Z';
    const bool small = text[i] >= 'a' && text[i] <= 'z';
    const bool word = capital || small || text[i] == '\'' || text[i] > 0x7f;
    ASSERT_EQ(lower[i], capital ? text[i] + 32 : text[i]);
    ASSERT_EQ(bits[i / 64] >> (i % 64) & 1, word ? 1u : 0u) << i;
  }
}

TEST(Letters, AreThoseOfSingleBytesOnEveryInstructionSet) {
  for_each_isa([] {
    for (const size_t blocks : {0, 1, 2, 5}) {
      std::vector<uint8_t> text(blocks * 64);
      for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<uint8_t>(i * 7);
      check_letters(text);
      for (uint8_t& byte : text) byte &= 0x7f;
      check_letters(text);
    }
  });
}

}  // namespace
}  // namespace hone::kernels

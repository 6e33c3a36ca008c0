// One number for the same bytes on every instruction set, another for others.
#include "kernels/cpu/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {
namespace {

std::vector<uint8_t> random_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(philox(3, 0, i)[0]);
  return bytes;
}

uint64_t sum_of(const std::vector<uint8_t>& bytes) { return checksum(bytes.data(), bytes.size()); }

TEST(Checksum, IsTheSameOnEveryInstructionSet) {
  for (const size_t size : {0, 1, 63, 64, 65, 1000, 100'000}) {
    const std::vector<uint8_t> bytes = random_bytes(size);
    std::set<uint64_t> sums;
    for (const Isa isa : available_isas()) {
      const ScopedIsa scope(isa);
      sums.insert(sum_of(bytes));
    }
    EXPECT_EQ(sums.size(), 1u) << size;
  }
}

TEST(Checksum, SeesEveryChangedBit) {
  std::vector<uint8_t> bytes = random_bytes(200);
  const uint64_t before = sum_of(bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(sum_of(bytes), before) << bit;
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(Checksum, SeesBitsChangedInPairsAndBlocksThatChangePlaces) {
  const std::vector<uint8_t> bytes = random_bytes(64 * 40);
  const uint64_t before = sum_of(bytes);
  for (size_t i = 0; i < 39; ++i) {
    std::vector<uint8_t> signs = bytes;  // the topmost bits of two words of one lane
    signs[64 * i + 7] ^= 0x80;
    signs[64 * (i + 1) + 7] ^= 0x80;
    EXPECT_NE(sum_of(signs), before) << i;
    std::vector<uint8_t> swapped = bytes;
    std::swap_ranges(swapped.begin() + static_cast<ptrdiff_t>(64 * i),
                     swapped.begin() + static_cast<ptrdiff_t>(64 * i + 64),
                     swapped.begin() + 64 * 39);
    EXPECT_NE(sum_of(swapped), before) << i;
  }
}

TEST(Checksum, SeesZerosThatAreAddedOrMissing) {
  std::set<uint64_t> sums;
  for (size_t size = 0; size < 300; ++size) sums.insert(sum_of(std::vector<uint8_t>(size)));
  EXPECT_EQ(sums.size(), 300u);
}

TEST(Checksum, HoldsItsSumsAtTheLargestPiece) {
  std::vector<uint8_t> bytes(kChecksumBytes, 0xff);
  const uint64_t before = sum_of(bytes);
  bytes[7] = 0x7f;
  bytes[64 * 2 + 7] = 0x7f;
  EXPECT_NE(sum_of(bytes), before);
  bytes.push_back(0);
  EXPECT_THROW(sum_of(bytes), Error);
}

}  // namespace
}  // namespace hone::kernels

#include "kernels/cpu/checksum.h"

#include <array>
#include <bit>
#include <cstring>

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/checksum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Eight lanes of two words, whatever the vector's width.
constexpr size_t kLanesOfBlock = 8;

/// sums: [low word, its sums, high word, its sums][lane]. A piece of kChecksumBytes has 2^16
/// blocks, so that sums of sums stay below 2^64.
void SumBlocks(const uint8_t* data, size_t blocks, uint64_t* sums) {
  using D = hn::CappedTag<uint64_t, kLanesOfBlock>;
  const D d;
  constexpr size_t kLanes = hn::MaxLanes(D());
  const auto mask = hn::Set(d, 0xffffffffu);
  for (size_t lane = 0; lane < kLanesOfBlock; lane += kLanes) {
    auto low = hn::Zero(d), low_sums = hn::Zero(d);
    auto high = hn::Zero(d), high_sums = hn::Zero(d);
    const auto* from = reinterpret_cast<const uint64_t*>(data);
    for (size_t i = 0; i < blocks; ++i) {
      const auto words = hn::LoadU(d, from + i * kLanesOfBlock + lane);
      low = hn::Add(low, hn::And(words, mask));
      high = hn::Add(high, hn::ShiftRight<32>(words));
      low_sums = hn::Add(low_sums, low);
      high_sums = hn::Add(high_sums, high);
    }
    hn::StoreU(low, d, sums + lane);
    hn::StoreU(low_sums, d, sums + kLanesOfBlock + lane);
    hn::StoreU(high, d, sums + 2 * kLanesOfBlock + lane);
    hn::StoreU(high_sums, d, sums + 3 * kLanesOfBlock + lane);
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/error.h"

namespace hone::kernels {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kBlock = 64;
using Sums = std::array<uint64_t, 32>;

uint64_t folded(const Sums& sums, uint64_t h) {
  for (const uint64_t sum : sums) {
    h = (h ^ sum) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace

uint64_t checksum(const void* data, size_t bytes) {
  if (bytes > kChecksumBytes) fail(ErrorKind::internal, "checksum of {} bytes at once", bytes);
  const auto* at = static_cast<const uint8_t*>(data);
  const size_t blocks = bytes / kBlock;
  const auto sum = HONE_TARGET_FUNCTION(SumBlocks);
  Sums sums{};
  sum(at, blocks, sums.data());
  const uint64_t h = folded(sums, bytes);
  if (bytes % kBlock == 0) return h;
  std::array<uint8_t, kBlock> tail{};
  std::memcpy(tail.data(), at + blocks * kBlock, bytes % kBlock);
  sum(tail.data(), 1, sums.data());
  return folded(sums, h);
}

}  // namespace hone::kernels
#endif

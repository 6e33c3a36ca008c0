#include "kernels/cpu/letters.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/letters.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

bool LetterBlocks(const uint8_t* from, int64_t blocks, uint8_t* lower, uint64_t* bits) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t kBlock = 64;
  const hn::CappedTag<uint8_t, kBlock> tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  auto* bytes_of_bits = reinterpret_cast<uint8_t*>(bits);
  auto all = hn::Zero(tag);
  for (int64_t at = 0; at < blocks * kBlock; at += lanes) {
    const auto bytes = hn::LoadU(tag, from + at);
    all = hn::Or(all, bytes);
    const auto upper = hn::Lt(hn::Sub(bytes, hn::Set(tag, 'A')), hn::Set(tag, 26));
    const auto small = hn::Add(bytes, hn::IfThenElseZero(upper, hn::Set(tag, 'a' - 'A')));
    const auto letter = hn::Lt(hn::Sub(small, hn::Set(tag, 'a')), hn::Set(tag, 26));
    const auto apostrophe = hn::Eq(bytes, hn::Set(tag, '\''));
    const auto other = hn::Gt(bytes, hn::Set(tag, 0x7f));
    hn::StoreU(small, tag, lower + at);
    hn::StoreMaskBits(tag, hn::Or(hn::Or(letter, apostrophe), other), bytes_of_bits + at / 8);
  }
  return !hn::AllFalse(tag, hn::Gt(all, hn::Set(tag, 0x7f)));
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hone::kernels {

bool letters(const uint8_t* from, int64_t blocks, uint8_t* lower, uint64_t* bits) {
  return HONE_TARGET_FUNCTION(LetterBlocks)(from, blocks, lower, bits);
}

}  // namespace hone::kernels

#endif  // HWY_ONCE

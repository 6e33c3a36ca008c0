#pragma once

#include <cstdint>

namespace hone::kernels {

/// Looks at blocks of 64 bytes of text: lower[i] is from[i] with ASCII's capitals made small, and
/// bit i of bits[] says whether it belongs to a word, that is, whether it is a letter of ASCII, an
/// apostrophe or not ASCII at all. Gives whether there is any of the last.
bool letters(const uint8_t* from, int64_t blocks, uint8_t* lower, uint64_t* bits);

}  // namespace hone::kernels

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hone::cli {

/// A field of the library's options and the flag that sets it.
struct FieldFlag {
  std::string_view field;
  std::string_view flag;
};

std::span<const FieldFlag> field_flags();

/// Gives an error's message with flags in place of the fields that it names: the one that it begins
/// with, before a colon, and those in backticks.
std::string with_flags(const Error& error);

}  // namespace hone::cli

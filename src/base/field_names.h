#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace hone {

/// Gives what users call a field of the library's options; empty where they have no name for it.
using FieldName = std::string_view (*)(std::string_view field);

/// Gives an error's message with users' names in place of the fields that it names: the one that it
/// begins with, before a colon, and those in backticks.
std::string with_names(const Error& error, FieldName name_of);

}  // namespace hone

#pragma once

#include <span>
#include <string_view>

#include "base/field_names.h"

namespace hone::api {

/// A field of the library's own options, and the public option that sets it.
struct OptionName {
  std::string_view field;
  std::string_view option;
};

std::span<const OptionName> option_names();

/// Gives the option of a field; empty where it has the same name.
std::string_view option_of(std::string_view field);

/// Runs `work`, whose errors then name public options as `name_of` gives them.
template <typename Work>
auto with_option_names(FieldName name_of, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), with_names(error, name_of));
  }
}

}  // namespace hone::api

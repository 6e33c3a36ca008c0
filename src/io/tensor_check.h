#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::io {

/// Gives the product of the sizes, or nothing where it, or its bytes at 8 an element, would not
/// fit. Sizes must not be negative.
std::optional<int64_t> count_elements(const std::vector<int64_t>& shape);

/// Refuses a tensor name that is empty or long, or holds control characters or invalid UTF-8.
void check_tensor_name(std::string_view name, const std::string& file);

}  // namespace hone::io

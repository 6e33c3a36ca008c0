#pragma once

#include <string>
#include <string_view>

namespace hone::text {

/// Decodes the standard alphabet with padding; anything else is an error that names `file` and
/// `field`.
std::string decode_base64(std::string_view text, const std::string& file, const std::string& field);

}  // namespace hone::text

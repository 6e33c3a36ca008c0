#pragma once

#include <string>
#include <string_view>

namespace hone::prep {

/// Reads the JSON string whose first character (behind the quote) is at `from`, in [from, end).
/// Gives a view of these very bytes where nothing is escaped, which is the common case, and of
/// `memory` otherwise. Half of a surrogate pair becomes U+FFFD. Sets `good` to false where the
/// string does not end or has an escape that JSON does not know.
std::string_view read_json_string(const char* from, const char* end, std::string& memory,
                                  bool& good);

}  // namespace hone::prep

#pragma once

#include <string_view>

/// The files of src/explain/page, put together: what stands before a page's data and behind it.
namespace hone::explain {

std::string_view page_before_data();
std::string_view page_behind_data();

}  // namespace hone::explain

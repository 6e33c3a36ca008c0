#pragma once

#include <string_view>

/// The files of src/report/page, which the program carries, and the hashes by which a page's
/// content policy allows them.
namespace hone::report {

std::string_view chart_style();
std::string_view chart_style_hash();
std::string_view page_style();
std::string_view page_style_hash();
std::string_view page_script();
std::string_view page_script_hash();

}  // namespace hone::report

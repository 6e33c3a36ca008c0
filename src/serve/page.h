#pragma once

#include <string_view>

/// Files of src/serve/page, which are part of the program.
namespace hone::serve {

std::string_view index_page();
std::string_view docs_page();
std::string_view openapi_document();

}  // namespace hone::serve

#include "base/field_names.h"

namespace hone {

std::string with_names(const Error& error, FieldName name_of) {
  std::string_view rest = error.what();
  std::string text;
  // Other kinds begin with a file, which may have the name of a field.
  const bool of_option = error.kind() == ErrorKind::usage || error.kind() == ErrorKind::unsupported;
  const size_t colon = rest.find(": ");
  if (of_option && colon != std::string_view::npos) {
    if (const std::string_view name = name_of(rest.substr(0, colon)); !name.empty()) {
      text = name;
      rest.remove_prefix(colon);
    }
  }
  for (size_t open = rest.find('`'); open != std::string_view::npos; open = rest.find('`')) {
    text += rest.substr(0, open);
    rest.remove_prefix(open);
    const size_t close = rest.find('`', 1);
    const std::string_view name =
        close == std::string_view::npos ? std::string_view() : name_of(rest.substr(1, close - 1));
    text += name.empty() ? "`" : name;
    rest.remove_prefix(name.empty() ? 1 : close + 1);
  }
  return text.append(rest);
}

}  // namespace hone

#include "cli/byte_size.h"

#include <array>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace hone::cli {

uint64_t parse_bytes(const char* flag, const std::string& given) {
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr std::array<Unit, 8> kUnits = {{{"", 1},
                                           {"KB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12},
                                           {"KiB", 0x1p10},
                                           {"MiB", 0x1p20},
                                           {"GiB", 0x1p30}}};
  const char* end = given.data() + given.size();
  double number = 0;
  const auto [stop, error] = std::from_chars(given.data(), end, number);
  for (const Unit& unit : kUnits) {
    const double bytes = number * unit.bytes;
    if (error == std::errc() && std::string_view(stop, end) == unit.name && bytes >= 1 &&
        bytes < 0x1p62) {
      return static_cast<uint64_t>(bytes);
    }
  }
  fail(ErrorKind::usage, "{}: expected a size such as 5GB or 200MB, got {}", flag, quote(given));
}

}  // namespace hone::cli

#include "io/tensor_check.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace hone::io {
namespace {

constexpr size_t kLongestName = 1024;

}  // namespace

std::optional<int64_t> count_elements(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) return std::nullopt;
  }
  if (elements > INT64_MAX / 8) return std::nullopt;
  return elements;
}

void check_tensor_name(std::string_view name, const std::string& file) {
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (name.empty()) fail(ErrorKind::bad_file, "{}: a tensor has an empty name", file);
  if (name.size() > kLongestName) {
    fail(ErrorKind::bad_file, "{}: tensor name {} is longer than {} bytes", file, quote(name),
         kLongestName);
  }
  if (std::any_of(name.begin(), name.end(), control) || !is_valid_utf8(name)) {
    fail(ErrorKind::bad_file, "{}: tensor name {} is not printable text", file, quote(name));
  }
}

}  // namespace hone::io

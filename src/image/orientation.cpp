#include "image/orientation.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace hone::image {
namespace {

/// The numbers of a TIFF block, in its byte order. A place outside gives nothing.
class TiffNumbers {
 public:
  explicit TiffNumbers(std::string_view bytes) : bytes_(bytes), little_(bytes.starts_with("II")) {}

  bool known() const { return little_ || bytes_.starts_with("MM"); }
  std::optional<uint32_t> read(size_t at, size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t place = little_ ? at + size - 1 - i : at + i;
      value = value << 8 | static_cast<uint8_t>(bytes_[place]);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool little_;
};

int valid_orientation(uint32_t value) {
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 0;
}

}  // namespace

int exif_orientation(std::string_view exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  constexpr uint32_t kOrientation = 0x0112, kByte = 1, kShort = 3, kLong = 4;
  constexpr size_t kEntryBytes = 12;
  if (exif.starts_with(kPrefix)) exif.remove_prefix(kPrefix.size());
  const TiffNumbers numbers(exif);
  if (!numbers.known()) return 0;
  const auto directory = numbers.read(4, 4);
  if (!directory) return 0;
  const auto entries = numbers.read(*directory, 2);
  for (uint32_t i = 0; i < entries.value_or(0); ++i) {
    const size_t at = size_t{*directory} + 2 + i * kEntryBytes;
    const auto tag = numbers.read(at, 2), type = numbers.read(at + 2, 2);
    if (!tag || !type) return 0;
    if (*tag != kOrientation) continue;
    const size_t size = *type == kByte ? 1 : *type == kShort ? 2 : *type == kLong ? 4 : 0;
    if (size == 0) return 0;
    return valid_orientation(numbers.read(at + 8, size).value_or(0));
  }
  return 0;
}

int xmp_orientation(std::string_view xmp) {
  constexpr std::string_view kName = "tiff:Orientation";
  for (size_t at = xmp.find(kName); at != xmp.npos; at = xmp.find(kName, at + 1)) {
    std::string_view rest = xmp.substr(at + kName.size());
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with('>')) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') continue;
    return valid_orientation(static_cast<uint32_t>(rest[0] - '0'));
  }
  return 0;
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  // What EXIF's numbers mean: 5 to 8 exchange rows and columns; then, rows or columns run
  // backwards.
  const bool turned = orientation >= 5;
  const bool mirrored =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool upended = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Image out(turned ? image.height : image.width, turned ? image.width : image.height);
  for (int64_t y = 0; y < out.height; ++y) {
    uint8_t* to = out.row(y);
    const int64_t from_y = upended ? out.height - 1 - y : y;
    for (int64_t x = 0; x < out.width; ++x) {
      const int64_t from_x = mirrored ? out.width - 1 - x : x;
      const uint8_t* from =
          turned ? image.row(from_x) + from_y * kChannels : image.row(from_y) + from_x * kChannels;
      to = std::copy_n(from, kChannels, to);
    }
  }
  return out;
}

}  // namespace hone::image

#include "image/decode.h"

#include "base/error.h"
#include "image/decoders.h"
#include "image/orientation.h"

namespace hone::image {

std::string_view format_of(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return "JPEG";
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "PNG";
  if (bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP") {
    return "WebP";
  }
  return {};
}

Image decode(std::string_view bytes, const std::string& file, const DecodeLimits& limits) {
  if (bytes.empty()) fail(ErrorKind::bad_file, "{}: empty, expected an image", file);
  const std::string_view format = format_of(bytes);
  if (format.empty()) {
    fail(ErrorKind::bad_file, "{}: expected a JPEG, PNG or WebP image, got {}", file,
         quote(bytes.substr(0, 8)));
  }
  Decoded decoded = format == "JPEG"  ? decode_jpeg(bytes, file, limits)
                    : format == "PNG" ? decode_png(bytes, file, limits)
                                      : decode_webp(bytes, file, limits);
  return upright(std::move(decoded.image), decoded.orientation);
}

void check_size(int64_t width, int64_t height, const std::string& file,
                const DecodeLimits& limits) {
  if (width < 1 || height < 1) {
    fail(ErrorKind::bad_file, "{}: an image of {} x {} has no pixels", file, width, height);
  }
  if (width > limits.max_pixels / height) {
    fail(ErrorKind::bad_file, "{}: an image of {} x {} has more than {} pixels", file, width,
         height, limits.max_pixels);
  }
}

void fail_image(const std::string& file, std::string_view format, std::string_view problem) {
  fail(ErrorKind::bad_file, "{}: {}: {}", file, format, problem);
}

}  // namespace hone::image

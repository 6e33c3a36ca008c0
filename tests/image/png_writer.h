#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "image/image.h"

namespace hone::image {

/// Gives an image as a PNG file, without compression.
inline std::string png_of(const Image& image) {
  const auto big_endian = [](uint64_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  const auto chunk = [&](const std::string& body) {
    uint32_t crc = 0xffffffff;
    for (const char byte : body) {
      crc ^= static_cast<uint8_t>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return big_endian(body.size() - 4) + body + big_endian(~crc);
  };
  std::string rows;
  for (int64_t y = 0; y < image.height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(image.row(y)),
                static_cast<size_t>(image.width * kChannels));
  }
  uint32_t a = 1, b = 0;
  for (const char byte : rows) {
    a = (a + static_cast<uint8_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  std::string stored = "\x78\x01";
  for (size_t at = 0; at < rows.size(); at += 65535) {
    const std::string block = rows.substr(at, 65535);
    const auto size = static_cast<uint16_t>(block.size());
    stored += at + block.size() == rows.size() ? '\1' : '\0';
    for (const int number : {int{size}, ~int{size}}) {
      stored += static_cast<char>(number);
      stored += static_cast<char>(number >> 8);
    }
    stored += block;
  }
  stored += big_endian(uint64_t{b} << 16 | a);
  return std::string("\x89PNG\r\n\x1a\n") +
         chunk("IHDR" + big_endian(static_cast<uint64_t>(image.width)) +
               big_endian(static_cast<uint64_t>(image.height)) + std::string("\x08\x02\0\0\0", 5)) +
         chunk("IDAT" + stored) + chunk("IEND");
}

}  // namespace hone::image

#pragma once

#include <fmt/format.h>

#include <string>

#include "base/file.h"
#include "base/json.h"
#include "image/decode.h"

namespace hone::image {

inline const std::string kGoldens = HONE_TEST_DIR "/../image/goldens/";

inline const Json& image_goldens() {
  static const Json goldens = parse_json(read_file(kGoldens + "goldens.json"), "goldens.json");
  return goldens;
}

inline Image golden_image(const std::string& name) {
  return decode(read_file(kGoldens + name), name);
}

/// Gives the hash that tests/parity/image_goldens.py writes: FNV-1a of 64 bits.
inline std::string fnv_of(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace hone::image

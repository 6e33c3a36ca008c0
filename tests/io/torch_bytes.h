#pragma once

// Writes torch files byte by byte, so that tests can make them lie.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scratch.h"

namespace hone::io::torch_bytes {

using namespace std::string_literals;

inline std::string text(const std::string& value) {
  return "X" + le(static_cast<uint32_t>(value.size())) + value;
}

inline std::string integer(int64_t value) { return "\x8a\x08" + le(value); }

inline std::string tuple(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (const int64_t value : values) out += integer(value);
  return out + "t";
}

/// `view` is pickled code for the sixth part that legacy files have.
inline std::string storage(const std::string& type, int64_t elements, const std::string& key = "0",
                           const std::string& view = "") {
  return "(" + text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") +
         integer(elements) + view + "tQ";
}

inline std::string tensor(const std::string& storage, int64_t offset,
                          const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + integer(offset) + tuple(sizes) +
         tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)R" + "tR";
}

inline std::string dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "}(";
  for (const auto& [key, value] : entries) out += text(key) + value;
  return out + "u";
}

inline std::string pickle(const std::string& body) { return "\x80\x02" + body + "."; }

/// The first three pickles of a legacy file.
inline std::string legacy_head(int64_t version, bool little_endian = true) {
  return pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") + pickle(integer(version)) +
         pickle(dict({{"little_endian", little_endian ? "\x88" : "\x89"}}));
}

struct Entry {
  std::string name;
  std::string bytes;
  uint16_t method = 0;
  bool zip64 = false;  ///< sizes and place in the zip64 extra record
  std::optional<uint64_t> claimed_size = std::nullopt;
};

inline std::string end_record(uint32_t size, uint32_t offset) {
  return "PK\5\6"s + std::string(8, '\0') + le(size) + le(offset) + le(uint16_t{0});
}

/// The records at the end of a zip64 file that is `before` bytes long up to them.
inline std::string end_records64(uint64_t size, uint64_t offset, uint64_t before = 4) {
  return "PK\6\6" + le(uint64_t{44}) + std::string(28, '\0') + le(size) + le(offset) + "PK\6\7" +
         le(uint32_t{0}) + le(before) + le(uint32_t{1}) + end_record(~0u, ~0u);
}

inline std::string zip(const std::vector<Entry>& entries) {
  std::string data;
  std::string directory;
  bool wide = false;
  for (const Entry& entry : entries) {
    const uint64_t size = entry.claimed_size.value_or(entry.bytes.size());
    const bool zip64 = entry.zip64 || size > 0xffffffffu;
    wide |= zip64;
    const uint64_t place = data.size();
    const std::string extra =
        zip64 ? le(uint16_t{1}) + le(uint16_t{24}) + le(size) + le(size) + le(place) : "";
    const auto field = [&](uint64_t value) {
      return le(zip64 ? ~0u : static_cast<uint32_t>(value));
    };
    const std::string common = le(uint16_t{0}) + le(entry.method) + le(uint32_t{0}) +
                               le(uint32_t{0}) + field(size) + field(size) +
                               le(static_cast<uint16_t>(entry.name.size()));
    data += "PK\3\4" + le(uint16_t{45}) + common + le(uint16_t{0}) + entry.name + entry.bytes;
    directory += "PK\1\2" + le(uint16_t{45}) + le(uint16_t{45}) + common +
                 le(static_cast<uint16_t>(extra.size())) + std::string(10, '\0') + field(place) +
                 entry.name + extra;
  }
  const uint64_t at = data.size();
  data += directory;
  return data +
         (wide ? end_records64(directory.size(), at, data.size())
               : end_record(static_cast<uint32_t>(directory.size()), static_cast<uint32_t>(at)));
}

}  // namespace hone::io::torch_bytes

#include "io/zip.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hone::io {
namespace {

constexpr uint64_t kEndSize = 22;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint64_t kLocatorSize = 20;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kCentralSize = 46;
constexpr uint64_t kLocalSize = 30;
constexpr uint64_t kMaxDirectory = 64 * 1024 * 1024;
constexpr uint32_t kSaturated = 0xffffffffu;

/// Reads the little-endian field at `at`, which the caller has checked.
template <typename T>
T field(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string read_range(const InputFile& file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  file.read(offset, bytes.data(), size);
  return bytes;
}

struct Directory {
  uint64_t offset;
  uint64_t size;
};

/// Finds the end record: the last one whose comment reaches exactly to the end of the file.
Directory locate(const InputFile& file) {
  const uint64_t span = std::min(file.size(), kEndSize + kMaxComment);
  const uint64_t base = file.size() - span;
  const std::string tail = read_range(file, base, span);
  for (uint64_t at = span < kEndSize ? 0 : span - kEndSize + 1; at-- > 0;) {
    if (field<uint32_t>(tail, at) != 0x06054b50u ||
        at + kEndSize + field<uint16_t>(tail, at + 20) != span) {
      continue;
    }
    Directory found = {field<uint32_t>(tail, at + 16), field<uint32_t>(tail, at + 12)};
    const uint64_t end = base + at;
    if (end < kLocatorSize) return found;
    const std::string locator = read_range(file, end - kLocatorSize, kLocatorSize);
    if (field<uint32_t>(locator, 0) != 0x07064b50u) return found;
    const uint64_t end64 = field<uint64_t>(locator, 8);
    if (file.size() < kEnd64Size || end64 > file.size() - kEnd64Size) break;
    const std::string record = read_range(file, end64, kEnd64Size);
    if (field<uint32_t>(record, 0) != 0x06064b50u) break;
    return {field<uint64_t>(record, 48), field<uint64_t>(record, 40)};
  }
  fail(ErrorKind::bad_file, "{}: zip file without a directory (truncated?)", file.path());
}

/// Replaces the saturated ones of `values` by the 8-byte fields of the zip64 extra record.
bool widen(std::string_view extra, std::initializer_list<uint64_t*> values) {
  while (extra.size() >= 4) {
    const uint16_t id = field<uint16_t>(extra, 0);
    const uint16_t size = field<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) return false;
    if (id == 1) {
      size_t at = 0;
      for (uint64_t* value : values) {
        if (*value != kSaturated) continue;
        if (at + 8 > size) return false;
        *value = field<uint64_t>(extra, at);
        at += 8;
      }
      return true;
    }
    extra.remove_prefix(size);
  }
  return std::none_of(values.begin(), values.end(), [](uint64_t* v) { return *v == kSaturated; });
}

}  // namespace

ZipDirectory::ZipDirectory(const InputFile& file) : file_(file) {
  const Directory place = locate(file);
  if (place.offset > file.size() || place.size > file.size() - place.offset ||
      place.size > kMaxDirectory) {
    fail(ErrorKind::bad_file, "{}: zip directory of {} bytes at {} does not fit the file",
         file.path(), place.size, place.offset);
  }
  add_entries(read_range(file, place.offset, place.size), place.offset);
}

void ZipDirectory::add_entries(std::string_view directory, uint64_t directory_offset) {
  while (!directory.empty()) {
    if (directory.size() < kCentralSize || field<uint32_t>(directory, 0) != 0x02014b50u) {
      fail(ErrorKind::bad_file, "{}: zip directory is damaged", file_.path());
    }
    const uint16_t flags = field<uint16_t>(directory, 8);
    const uint16_t method = field<uint16_t>(directory, 10);
    uint64_t packed = field<uint32_t>(directory, 20);
    uint64_t size = field<uint32_t>(directory, 24);
    const size_t name_size = field<uint16_t>(directory, 28);
    const size_t extra_size = field<uint16_t>(directory, 30);
    const size_t comment_size = field<uint16_t>(directory, 32);
    uint64_t header = field<uint32_t>(directory, 42);
    const size_t total = kCentralSize + name_size + extra_size + comment_size;
    if (total > directory.size() ||
        !widen(directory.substr(kCentralSize + name_size, extra_size), {&size, &packed, &header})) {
      fail(ErrorKind::bad_file, "{}: zip directory is damaged", file_.path());
    }
    std::string name(directory.substr(kCentralSize, name_size));
    if (header > directory_offset || size > directory_offset - header) {
      fail(ErrorKind::bad_file, "{}: zip entry {} of {} bytes at {} lies outside the data",
           file_.path(), quote(name), size, header);
    }
    const bool encrypted = (flags & 1) != 0;
    const Entry entry = {header, size, method == 0 && packed == size && !encrypted};
    if (!entries_.emplace(name, entry).second) {
      fail(ErrorKind::bad_file, "{}: zip entry {} occurs twice", file_.path(), quote(name));
    }
    directory.remove_prefix(total);
  }
}

ZipDirectory::Range ZipDirectory::find(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    fail(ErrorKind::bad_file, "{}: zip entry {} is missing", file_.path(), quote(name));
  }
  const Entry& entry = it->second;
  if (!entry.stored) {
    fail(ErrorKind::unsupported, "{}: zip entry {} is compressed or encrypted", file_.path(),
         quote(name));
  }
  if (entry.header > file_.size() || file_.size() - entry.header < kLocalSize) {
    fail(ErrorKind::bad_file, "{}: zip entry {} lies outside the file", file_.path(), quote(name));
  }
  const std::string local = read_range(file_, entry.header, kLocalSize);
  const uint64_t offset =
      entry.header + kLocalSize + field<uint16_t>(local, 26) + uint64_t{field<uint16_t>(local, 28)};
  if (field<uint32_t>(local, 0) != 0x04034b50u || offset > file_.size() ||
      entry.size > file_.size() - offset) {
    fail(ErrorKind::bad_file, "{}: zip entry {} has a damaged header", file_.path(), quote(name));
  }
  return {offset, entry.size};
}

std::string ZipDirectory::find_suffix(std::string_view suffix) const {
  std::string found;
  for (const auto& [name, entry] : entries_) {
    const bool in_root_folder = name.size() > suffix.size() + 1 && name.ends_with(suffix) &&
                                name.find('/') == name.size() - suffix.size() - 1;
    if (in_root_folder && (found.empty() || name < found)) found = name;
  }
  return found;
}

}  // namespace hone::io

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// A folder for readers that take one; it is removed when the process ends.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "fuzz-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) std::abort();
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Copies a folder of tests/ into a folder `name` of this one, and gives its path.
  std::string copy(const std::string& from, const std::string& name) const {
    const std::string to = path_ + "/" + name;
    std::filesystem::copy(HONE_TESTS "/" + from, to, std::filesystem::copy_options::recursive);
    return to;
  }

 private:
  std::string path_;
};

/// Makes `path` a file with these bytes; without bytes there is no such file.
inline void put_file(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);
  if (!bytes.empty()) std::ofstream(path, std::ios::binary) << bytes;
}

/// Cuts an input into as many parts at its first zero bytes; the last part may have zeros, and
/// parts that the input lacks are empty.
inline std::vector<std::string_view> split_input(std::string_view input, size_t count) {
  std::vector<std::string_view> parts(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? input.find('\0') : input.npos;
    parts[i] = input.substr(0, end);
    input.remove_prefix(end == input.npos ? input.size() : end + 1);
  }
  return parts;
}

}  // namespace hone

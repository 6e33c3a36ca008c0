#include "base/plugin.h"

#include <cstdlib>
#include <filesystem>

#include "base/library.h"

namespace hone {

namespace fs = std::filesystem;

const char* const kLibrariesFromPrograms = HONE_LIBRARIES_FROM_PROGRAMS;

std::string find_plugin(const std::string& folder, const char* file_name) {
  const fs::path from = folder;
  std::error_code error;
  for (const fs::path& place : {from, from / "hone", from / kLibrariesFromPrograms / "hone"}) {
    if (fs::exists(place / file_name, error))
      return (place / file_name).lexically_normal().string();
  }
  return {};
}

std::string plugin_path(const char* variable, const char* file_name) {
  if (const char* path = std::getenv(variable); path && *path) return path;
  const std::string found = find_plugin(own_folder(), file_name);
  return found.empty() ? file_name : found;
}

}  // namespace hone

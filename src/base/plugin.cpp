#include "base/plugin.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>

namespace hone {
namespace {

namespace fs = std::filesystem;

/// Gives the folder of the program or library that holds this code.
fs::path own_folder() {
  Dl_info info = {};
  link_map* library = nullptr;
  const bool found = dladdr1(reinterpret_cast<void*>(&plugin_path), &info,
                             reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) != 0;
  std::error_code error;
  // The program itself has no name in this list.
  const bool in_library = found && library && library->l_name[0] != '\0';
  const fs::path file = in_library ? fs::canonical(library->l_name, error)
                                   : fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : file.parent_path();
}

}  // namespace

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
  const std::string found = find_plugin(own_folder().string(), file_name);
  return found.empty() ? file_name : found;
}

}  // namespace hone

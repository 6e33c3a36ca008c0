#include "base/library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace hone {

namespace fs = std::filesystem;

Library open_library(const std::string& path, Symbols symbols) {
  const int scope = symbols == Symbols::shared ? RTLD_GLOBAL : RTLD_LOCAL;
  Library library{dlopen(path.c_str(), RTLD_NOW | scope), {}};
  if (!library.handle) {
    const char* why = dlerror();
    library.missing = why ? why : path + " cannot be opened";
  }
  return library;
}

void close_library(const Library& library) {
  if (library.handle) dlclose(library.handle);
}

void* find_symbol(const Library& library, const char* name) {
  return library.handle ? dlsym(library.handle, name) : nullptr;
}

std::string own_folder() {
  Dl_info info = {};
  link_map* library = nullptr;
  const bool found = dladdr1(reinterpret_cast<void*>(&own_folder), &info,
                             reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) != 0;
  std::error_code error;
  // The program itself has no name in this list.
  const bool in_library = found && library && library->l_name[0] != '\0';
  const fs::path file = in_library ? fs::canonical(library->l_name, error)
                                   : fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : file.parent_path().string();
}

}  // namespace hone

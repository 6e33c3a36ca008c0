#pragma once

#include <string>

namespace hone {

/// A library that was opened while the program runs, or why it could not be. It stays open unless
/// close_library() is called.
struct Library {
  void* handle = nullptr;
  std::string missing;  ///< why there is none; empty: it is open
};

/// Whether libraries that are opened later find a library's symbols.
enum class Symbols { own, shared };

/// A program without a loader (one that is linked statically) says so in `missing`.
Library open_library(const std::string& path, Symbols symbols = Symbols::own);
void close_library(const Library& library);

/// Null where the library is not open or has no such symbol.
void* find_symbol(const Library& library, const char* name);

template <typename Function>
Function find_function(const Library& library, const char* name) {
  return reinterpret_cast<Function>(find_symbol(library, name));
}

/// Gives the folder of the program or library that holds hone's code; empty if that is unknown.
std::string own_folder();

}  // namespace hone

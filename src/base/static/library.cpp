// What base/library.cpp is to a program that is linked statically, which can open no library.
#include "base/library.h"

namespace hone {

Library open_library(const std::string& path, Symbols) {
  return {nullptr, path + ": this program is linked statically and opens no library"};
}

void close_library(const Library&) {}

void* find_symbol(const Library&, const char*) { return nullptr; }

std::string own_folder() { return {}; }

}  // namespace hone

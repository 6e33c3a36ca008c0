#pragma once

#include "io/hdf5.h"

namespace hone::io {

/// Raise it with every change of what lies between the program and libhone_hdf5.so: this table and
/// the types of hdf5.h.
inline constexpr int kHdf5Interface = 1;
inline constexpr const char* kHdf5Entry = "hone_hdf5_plugin";

/// What libhone_hdf5.so gives to whom it is opened by. All but the first two throw hone::Error, and
/// the caller owns what they give.
struct Hdf5Plugin {
  int interface;        ///< kHdf5Interface of the library
  const char* version;  ///< kVersion of the library
  TableBuilder* (*build)(const std::vector<Column>& columns, int64_t rows);
  std::string (*build_index)(const std::vector<Column>& columns, std::span<const TablePart> parts);
  TableReader* (*open)(const std::string& path, const std::vector<std::string>& columns);
  std::string (*library_version)();
};

using Hdf5Entry = const Hdf5Plugin* (*)();

/// Opens the library at that path, for good. One that is missing, is something else or belongs to
/// another hone is an Error of one line.
const Hdf5Plugin& load_hdf5_plugin(const std::string& path);

}  // namespace hone::io

// Opens libhone_hdf5.so, which holds all that knows HDF5.

#include "io/hdf5.h"

#include "base/error.h"
#include "base/library.h"
#include "base/plugin.h"
#include "base/version.h"
#include "io/hdf5_plugin.h"

namespace hone::io {
namespace {

const Hdf5Plugin& hdf5_plugin() {
  static const Hdf5Plugin& opened =
      load_hdf5_plugin(plugin_path("HONE_HDF5_PLUGIN", "libhone_hdf5.so"));
  return opened;
}

}  // namespace

const Hdf5Plugin& load_hdf5_plugin(const std::string& path) {
  const Library library = open_library(path);
  if (!library.handle) {
    fail(ErrorKind::unsupported,
         "the HDF5 library of hone cannot be opened: {}; it is built where libhdf5-dev and "
         "libdeflate-dev are installed",
         library.missing);
  }
  const auto entry = find_function<Hdf5Entry>(library, kHdf5Entry);
  const Hdf5Plugin* found = entry ? entry() : nullptr;
  if (!found) fail(ErrorKind::unsupported, "{} is not the HDF5 library of hone", path);
  if (found->interface != kHdf5Interface || std::string_view(found->version) != kVersion) {
    fail(ErrorKind::unsupported,
         "{} is the HDF5 library of another hone (version {}, interface {}; this one is {}, {})",
         path, found->version, found->interface, kVersion, kHdf5Interface);
  }
  return *found;
}

std::unique_ptr<TableBuilder> build_table(const std::vector<Column>& columns, int64_t rows) {
  return std::unique_ptr<TableBuilder>(hdf5_plugin().build(columns, rows));
}

std::string build_table_index(const std::vector<Column>& columns,
                              std::span<const TablePart> parts) {
  return hdf5_plugin().build_index(columns, parts);
}

std::unique_ptr<TableReader> open_table(const std::string& path,
                                        const std::vector<std::string>& columns) {
  return std::unique_ptr<TableReader>(hdf5_plugin().open(path, columns));
}

std::string hdf5_version() { return hdf5_plugin().library_version(); }

}  // namespace hone::io

#include "comm/mpi_plugin.h"

#include <string_view>

#include "base/error.h"
#include "base/library.h"
#include "base/plugin.h"
#include "base/version.h"

namespace hone::comm {
namespace {

struct OpenedMpi {
  const MpiPlugin* plugin = nullptr;
  MpiInfo info;
};

OpenedMpi open_mpi_plugin(const std::string& path) {
  OpenedMpi opened;
  // MPI's own plugins look for the symbols of the libraries that this one brings along.
  const Library library = open_library(path, Symbols::shared);
  opened.info.missing = library.missing;
  if (!library.handle) return opened;
  const auto entry = find_function<MpiEntry>(library, kMpiEntry);
  const MpiPlugin* found = entry ? entry() : nullptr;
  if (!found) {
    opened.info.missing = path + " is not the MPI library of hone";
  } else if (found->interface != kMpiInterface || std::string_view(found->version) != kVersion) {
    opened.info.missing = fmt::format(
        "{} is the MPI library of another hone (version {}, interface {}; this one is {}, {})",
        path, found->version, found->interface, kVersion, kMpiInterface);
  } else {
    opened.plugin = found;
    opened.info.plugin = path;
    opened.info.library = found->library();
  }
  return opened;
}

const OpenedMpi& opened_mpi() {
  static const OpenedMpi opened = open_mpi_plugin(plugin_path("HONE_MPI_PLUGIN", "libhone_mpi.so"));
  return opened;
}

}  // namespace

const MpiInfo& mpi_info() { return opened_mpi().info; }

std::unique_ptr<Link> open_mpi() {
  if (const std::string& missing = mpi_info().missing; !missing.empty()) {
    fail(ErrorKind::unsupported, "MPI cannot be used: {}", missing);
  }
  return std::unique_ptr<Link>(opened_mpi().plugin->open());
}

}  // namespace hone::comm

#include "comm/mpi_plugin.h"

#include <dlfcn.h>

#include <string_view>

#include "base/error.h"
#include "base/plugin.h"

namespace hone::comm {
namespace {

struct OpenedMpi {
  const MpiPlugin* plugin = nullptr;
  MpiInfo info;
};

OpenedMpi open_mpi_plugin(const std::string& path) {
  OpenedMpi opened;
  // MPI's own plugins look for the symbols of the libraries that this one brings along.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* why = ::dlerror();
    opened.info.missing = why ? why : path + " cannot be opened";
    return opened;
  }
  const auto entry = reinterpret_cast<MpiEntry>(::dlsym(library, kMpiEntry));
  const MpiPlugin* found = entry ? entry() : nullptr;
  if (!found) {
    opened.info.missing = path + " is not the MPI library of hone";
  } else if (found->interface != kMpiInterface ||
             std::string_view(found->version) != HONE_VERSION) {
    opened.info.missing = fmt::format(
        "{} is the MPI library of another hone (version {}, interface {}; this one is {}, {})",
        path, found->version, found->interface, HONE_VERSION, kMpiInterface);
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

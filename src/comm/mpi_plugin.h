#pragma once

#include <memory>
#include <string>

#include "comm/link.h"

namespace hone::comm {

/// Raise it with every change of what lies between the program and libhone_mpi.so: this table and
/// link.h.
inline constexpr int kMpiInterface = 1;
inline constexpr const char* kMpiEntry = "hone_mpi_plugin";

/// What libhone_mpi.so gives to whom it is opened by.
struct MpiPlugin {
  int interface;             ///< kMpiInterface of the library
  const char* version;       ///< kVersion of the library
  const char* (*library)();  ///< names MPI and its version; needs no started MPI
  /// Starts MPI. Throws hone::Error; the caller owns the link.
  Link* (*open)();
};

using MpiEntry = const MpiPlugin* (*)();

/// Says what there is for MPI.
struct MpiInfo {
  std::string plugin;   ///< the file that was opened; empty: none
  std::string library;  ///< a name such as "Open MPI v4.1.4"
  std::string missing;  ///< why ranks of several hosts cannot be had, in words; empty: they can
};

/// Looks at the first call, which opens the plugin: HONE_MPI_PLUGIN, or libhone_mpi.so beside the
/// program, or where the system looks for libraries.
const MpiInfo& mpi_info();

/// Starts MPI; where it cannot be had, that is an error of kind unsupported that says why.
std::unique_ptr<Link> open_mpi();

}  // namespace hone::comm

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"

namespace hone::comm {

/// How this process was started, as its environment says.
struct Launch {
  enum class By { nobody, launcher, mpi };
  By by = By::nobody;
  int rank = 0;
  int size = 1;
  int descriptor = -1;       ///< names the memory that the launcher's ranks share
  int restarts = 0;          ///< how often the launcher has started all ranks anew
  int first_size = 0;        ///< ranks that the launcher began with, some of which may be lost
  std::string starter = {};  ///< "mpirun" or "srun"; empty where it was neither
};

using Variable = std::function<const char*(const char* name)>;

/// Reads the environment. Ranks that Slurm started without PMIx do not know each other: that is a
/// usage error.
Launch find_launch(const Variable& variable);
Launch find_launch();

/// Waits a moment. What starts ranks may end all of them where one has ended, so that one that
/// leaves it to another to tell the user why the run has failed calls this before it ends.
void let_others_tell();

/// The variables by which a launcher tells a process which rank it is.
constexpr const char* kRankVariable = "HONE_RANK";
constexpr const char* kRanksVariable = "HONE_RANKS";
constexpr const char* kMemoryVariable = "HONE_RANKS_MEMORY";
constexpr const char* kRestartsVariable = "HONE_RESTARTS";
constexpr const char* kFirstRanksVariable = "HONE_FIRST_RANKS";

/// Opens the communicator of the run that this process belongs to. Where MPI is needed and cannot
/// be had, that is one error of kind unsupported.
std::unique_ptr<Communicator> open_world(const Launch& launch, const Options& options);

}  // namespace hone::comm

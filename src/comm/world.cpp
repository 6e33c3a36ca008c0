#include "comm/world.h"

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "comm/exchange.h"
#include "comm/guardian.h"
#include "comm/mpi_plugin.h"

namespace hone::comm {
namespace {

/// Gives the variable's number; `otherwise` where it is not set or no number.
int number_of(const Variable& variable, const char* name, int otherwise) {
  const char* text = variable(name);
  if (!text) return otherwise;
  int number = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end ? number : otherwise;
}

std::unique_ptr<Communicator> open_mpi_world(const Launch& launch, Options options) {
  if (const std::string& missing = mpi_info().missing; !missing.empty()) {
    fail(ErrorKind::unsupported, "{}: MPI cannot be used: {}", launch.starter, missing);
  }
  // MPI writes to connections whose other end may be gone, which must not end this process before
  // it has said who was lost.
  std::signal(SIGPIPE, SIG_IGN);
  const auto guardian = std::make_shared<Guardian>(options.watch.timeout);
  options.watch.on_beat = [guardian] { guardian->beat(); };
  std::unique_ptr<Link> link = open_mpi();
  if (link->size() != launch.size) {
    fail(ErrorKind::unsupported,
         "{}: started {} processes, of which {} knows {}: they belong to different MPIs",
         launch.starter, launch.size, mpi_info().library, link->size());
  }
  return std::make_unique<Communicator>(
      make_link_exchange(std::move(link), origin_here(), options.watch), options);
}

}  // namespace

Launch find_launch(const Variable& variable) {
  Launch launch;
  if (variable(kRankVariable)) {
    launch.by = Launch::By::launcher;
    launch.rank = number_of(variable, kRankVariable, -1);
    launch.size = number_of(variable, kRanksVariable, 0);
    launch.descriptor = number_of(variable, kMemoryVariable, -1);
    launch.restarts = number_of(variable, kRestartsVariable, 0);
    launch.first_size = number_of(variable, kFirstRanksVariable, launch.size);
    if (launch.rank < 0 || launch.rank >= launch.size || launch.descriptor < 0) {
      fail(ErrorKind::usage, "{}: is set by hone alone, for the ranks that it starts",
           kRankVariable);
    }
    return launch;
  }
  if (const int size = number_of(variable, "OMPI_COMM_WORLD_SIZE", 0); size > 0) {
    launch = {.rank = number_of(variable, "OMPI_COMM_WORLD_RANK", 0), .size = size};
    launch.starter = "mpirun";
  } else if (const int tasks = number_of(variable, "SLURM_STEP_NUM_TASKS", 1);
             tasks > 1 && variable("SLURM_STEP_ID")) {
    if (!variable("PMIX_RANK")) {
      fail(ErrorKind::usage,
           "SLURM_STEP_NUM_TASKS: srun started {} processes that do not know each other; let srun "
           "give them PMIx (its option mpi=pmix)",
           tasks);
    }
    launch = {.rank = number_of(variable, "PMIX_RANK", 0), .size = tasks};
    launch.starter = "srun";
  }
  if (launch.size > 1) launch.by = Launch::By::mpi;
  return launch;
}

Launch find_launch() {
  return find_launch([](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
  });
}

void let_others_tell() {
  constexpr std::chrono::milliseconds kMoment{500};
  std::this_thread::sleep_for(kMoment);
}

std::unique_ptr<Communicator> open_world(const Launch& launch, const Options& options) {
  switch (launch.by) {
    case Launch::By::launcher:
      return std::make_unique<Communicator>(launch.descriptor, launch.rank, launch.size, options);
    case Launch::By::mpi:
      return open_mpi_world(launch, options);
    case Launch::By::nobody:
      break;
  }
  return std::make_unique<Communicator>();
}

}  // namespace hone::comm

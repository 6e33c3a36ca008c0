#include "cli/rank_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "cli/exit_code.h"
#include "device/cpu_info.h"

namespace hone::cli {
namespace {

constexpr const char* kSeveralHosts =
    "hone starts ranks on one host; on several: mpirun -np N hone train ..., or srun --mpi=pmix -n "
    "N hone train ...";

/// The cores that this process may run on, as text that equals that of others.
std::string cores_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "all";
  std::string text;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) text += fmt::format("{},", i);
  }
  return text;
}

}  // namespace

void RankOptions::declare(Arguments& arguments) {
  arguments.integer("--nproc-per-node", 1, 1024, asked_, "processes of this host to train with");
  arguments.integer("--max-restarts", 0, 1'000'000, launch_.restarts,
                    "after a lost process; needs --nproc-per-node");
  arguments.integer("--min_ranks", 1, 1024, launch_.min_ranks,
                    "a restart may have fewer processes");
  arguments.real("--comm_timeout,--ddp_timeout", 0.1, 1e9, timeout_,
                 "seconds after which a silent process is lost; 60");
  arguments.flag("--no_overlap", no_overlap_,
                 "sum gradients behind the backward pass, not\nmeanwhile: what overlap is worth");
  arguments.text("--nnodes", "N", nodes_, "1; more are started by mpirun or srun");
  for (const char* name : {"--node-rank", "--master-addr", "--master-port", "--rdzv-endpoint",
                           "--rdzv-backend", "--rdzv-id"}) {
    arguments.replaced(name, kSeveralHosts);
  }
}

void RankOptions::resolve(const comm::Launch& launch, const Words& words) {
  if (!nodes_.empty() && nodes_ != "1" && nodes_ != "1:1") {
    std::vector<std::string> kept;
    for (size_t i = 0; i < words.size(); ++i) {
      const bool spaced = words[i] == "--nnodes" || words[i].starts_with("--nproc");
      if (spaced && words[i].find('=') == std::string::npos) {
        ++i;
      } else if (!spaced && !words[i].starts_with("--nnodes=")) {
        kept.push_back(words[i]);
      }
    }
    const int64_t each = std::max<int64_t>(asked_, 1);
    fail(ErrorKind::usage,
         "--nnodes: hone starts ranks on one host, got {}; use mpirun --map-by ppr:{}:node hone "
         "train {}, or srun --mpi=pmix -N {} --ntasks-per-node {} hone train ...",
         quote(nodes_), each, fmt::join(kept, " "), nodes_, each);
  }
  if (launch.by == comm::Launch::By::launcher) return;
  if (!launch.starter.empty()) {
    if (asked_ > 0) {
      fail(ErrorKind::usage, "--nproc-per-node: the processes are those that {} starts here",
           launch.starter);
    }
    if (launch_.restarts > 0) {
      fail(ErrorKind::usage, "--max-restarts: hone restarts what it started itself; {}",
           launch.starter == "srun"
               ? "use sbatch --requeue and --resume_from_checkpoint last"
               : "under mpirun start again with --resume_from_checkpoint last");
    }
    return;
  }
  if (asked_ == 0 && launch_.restarts > 0) asked_ = 1;
  launches_ = asked_ > 0 && (asked_ > 1 || launch_.restarts > 0);
  launch_.ranks = asked_;
  if (launch_.min_ranks > std::max<int64_t>(asked_, 1)) {
    fail(ErrorKind::usage, "--min_ranks: {} is more than the {} of --nproc-per-node",
         launch_.min_ranks, std::max<int64_t>(asked_, 1));
  }
}

std::unique_ptr<comm::Communicator> RankOptions::open(const comm::Launch& launch) const {
  comm::Options options;
  options.watch.timeout = timeout_;
  options.overlap = !no_overlap_;
  options.watch.on_lost = [](const std::string& why, bool told_here) {
    if (told_here) fmt::print(stderr, "hone: {}\n", why);
    remove_partial_output(true);
    ::_exit(kFailed);
  };
  return comm::open_world(launch, options);
}

int threads_of_rank(comm::Communicator& ranks) {
  const std::string own =
      fmt::format("{} {}", ranks.hosts()[static_cast<size_t>(ranks.rank())], cores_here());
  const std::vector<std::string> all = ranks.gather(own);
  const auto sharing = static_cast<int>(std::count(all.begin(), all.end(), own));
  return std::max(1, usable_cores() / sharing);
}

}  // namespace hone::cli

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/child_process.h"
#include "comm/mpi_plugin.h"

namespace hone::comm {
namespace {

constexpr const char* kMpirun = "/usr/bin/mpirun";

/// Runs the probe, which checks its sums, as so many ranks.
ChildResult run_probe(const char* ranks) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("hone-probe-" + std::to_string(::getpid())))
          .string();
  // Open MPI wants to be told that it is meant to run as root, which containers often do.
  ChildResult done = run_child(kMpirun, {"--allow-run-as-root", "--oversubscribe", "--bind-to",
                                         "none", "--mca", "btl_tcp_if_include", "lo", "-np", ranks,
                                         HONE_COMM_PROBE, "10", "70000", "60", file});
  std::filesystem::remove(file);
  return done;
}

TEST(Mpi, RanksOfMpirunSum) {
  if (!mpi_info().missing.empty()) GTEST_SKIP() << "no MPI here: " << mpi_info().missing;
  if (!std::filesystem::exists(kMpirun)) GTEST_SKIP() << "no MPI here: no " << kMpirun;
  // Open MPI leaves memory behind at its end, which is not ours to complain of.
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  EXPECT_TRUE(mpi_info().library.starts_with("Open MPI v")) << mpi_info().library;
  for (const char* ranks : {"1", "3"}) {
    const ChildResult done = run_probe(ranks);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(done.out.starts_with(std::string(ranks) + " ranks, ")) << done.out;
  }
}

}  // namespace
}  // namespace hone::comm

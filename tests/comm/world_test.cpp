#include "comm/world.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace hone::comm {
namespace {

Launch launch_with(const std::map<std::string, std::string>& variables) {
  return find_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(World, AProcessByItselfIsOneRank) {
  EXPECT_EQ(launch_with({}).by, Launch::By::nobody);
  EXPECT_EQ(open_world(launch_with({}), {})->size(), 1);
  // The script of a batch job has the variables of the job, but is no task of a step.
  EXPECT_EQ(launch_with({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).size, 1);
  const Launch one = launch_with({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}});
  EXPECT_EQ(one.by, Launch::By::nobody);
  EXPECT_EQ(one.starter, "mpirun");
}

TEST(World, RanksComeFromWhoStartedThem) {
  const Launch own = launch_with({{kRankVariable, "1"},
                                  {kRanksVariable, "3"},
                                  {kMemoryVariable, "7"},
                                  {kRestartsVariable, "2"},
                                  {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_EQ(own.by, Launch::By::launcher);
  EXPECT_EQ(own.rank, 1);
  EXPECT_EQ(own.size, 3);
  EXPECT_EQ(own.descriptor, 7);
  EXPECT_EQ(own.restarts, 2);
  const Launch mpirun = launch_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}});
  EXPECT_EQ(mpirun.by, Launch::By::mpi);
  EXPECT_EQ(mpirun.rank, 3);
  EXPECT_EQ(mpirun.size, 4);
  const Launch srun =
      launch_with({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_ID", "0"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(srun.by, Launch::By::mpi);
  EXPECT_EQ(srun.rank, 1);
  EXPECT_EQ(srun.starter, "srun");
}

TEST(World, ProcessesThatDoNotKnowEachOtherAreRefused) {
  EXPECT_THROW(launch_with({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_ID", "0"}}), Error);
  EXPECT_THROW(launch_with({{kRankVariable, "1"}}), Error);
  EXPECT_THROW(launch_with({{kRankVariable, "x"}, {kRanksVariable, "2"}, {kMemoryVariable, "3"}}),
               Error);
}

}  // namespace
}  // namespace hone::comm

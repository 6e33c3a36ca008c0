#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/program.h"

namespace hone::cli {
namespace {

/// Variables of the environment, as a starter of ranks sets them, while it lives.
class Started {
 public:
  explicit Started(std::vector<std::pair<const char*, const char*>> variables)
      : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name, value, 1);
  }
  ~Started() {
    for (const auto& [name, value] : variables_) ::unsetenv(name);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

 private:
  std::vector<std::pair<const char*, const char*>> variables_;
};

TEST(RankWords, SeveralHostsAreAnsweredWithTheCommandToUse) {
  expect_refused(hone({"train", "--nnodes", "2", "--nproc-per-node=4", "--model", "DIR", "--bf16"}),
                 {"--nnodes", "'2'", "mpirun --map-by ppr:4:node hone train --model DIR --bf16,",
                  "srun --mpi=pmix -N 2 --ntasks-per-node 4"});
  for (const char* name : {"--node_rank", "--master-addr", "--master_port", "--rdzv-endpoint"}) {
    expect_refused(hone({"train", name, "0"}), {"mpirun -np N hone train", "srun --mpi=pmix -n N"});
  }
  expect_refused(hone({"train", "--nproc-per-node", "2", "--min_ranks", "3"}),
                 {"--min_ranks", "3", "2"});
}

TEST(RankWords, WhoStartedTheRanksRestartsThem) {
  const Started by_mpirun({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}});
  expect_refused(hone({"train", "--max-restarts", "3"}),
                 {"--max-restarts", "mpirun", "--resume_from_checkpoint last"});
  expect_refused(hone({"train", "--nproc-per-node", "2"}), {"--nproc-per-node", "mpirun"});
}

TEST(RankWords, OtherRanksDoNotRepeatWhatTheFirstOneSays) {
  const Started by_mpirun({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}});
  const Finished done = hone({"train", "--max-restarts", "3"});
  EXPECT_EQ(done.code, 2);
  EXPECT_EQ(done.err, "");
}

TEST(RankWords, UnderSlurmTheQueueRestarts) {
  const Started by_srun(
      {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_ID", "0"}, {"PMIX_RANK", "0"}});
  expect_refused(hone({"train", "--max-restarts", "3"}),
                 {"--max-restarts", "sbatch --requeue", "--resume_from_checkpoint last"});
}

TEST(RankWords, RanksOfSlurmThatDoNotKnowEachOtherAreRefused) {
  const Started by_srun({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_ID", "0"}});
  expect_refused(hone({"train"}), {"SLURM_STEP_NUM_TASKS", "4 processes", "mpi=pmix"});
}

TEST(RankWords, WithoutMpiSeveralHostsAreOneError) {
  const Started nowhere({{"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_RANK", "0"},
                         {"HONE_MPI_PLUGIN", "/nowhere/libhone_mpi.so"}});
  const Scratch scratch;
  expect_refused(hone({"train", "--output_dir", scratch / "out"}),
                 {"mpirun: MPI cannot be used", "/nowhere/libhone_mpi.so"});
  const Finished info = hone({"info", "--json"});
  const Json ranks = info.objects().at(0).at("ranks");
  EXPECT_EQ(ranks.at("shared_memory"), true);
  EXPECT_NE(ranks.at("mpi").at("missing").get<std::string>().find("/nowhere"), std::string::npos);
  EXPECT_TRUE(ranks.at("nccl").contains("version") || ranks.at("nccl").contains("missing"));
}

}  // namespace
}  // namespace hone::cli

// The time of a sum between ranks of one host, whose data lies in windows that they share.
//
//   allreduce_bench BYTES TIMES [RANKS]    checks the sum, then prints milliseconds of each

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "comm/communicator.h"
#include "comm/host_memory.h"

namespace {

using hone::comm::Communicator;

void fill(float* data, int64_t count, int rank) {
  for (int64_t i = 0; i < count; ++i) data[i] = static_cast<float>((i + 7 * rank) % 1000);
}

void check(const float* data, int64_t count, int ranks) {
  for (int64_t i = 0; i < count; ++i) {
    float wanted = 0;
    for (int rank = 0; rank < ranks; ++rank) wanted += static_cast<float>((i + 7 * rank) % 1000);
    if (data[i] != wanted) hone::fail(hone::ErrorKind::failed, "element {} is wrong", i);
  }
}

/// Keeps a rank on a core of its own where there is one, as mpirun does.
void stay_on_core(int rank) {
  cpu_set_t allowed;
  cpu_set_t own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int left = rank % CPU_COUNT(&allowed);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed) && left-- == 0) CPU_SET(i, &own);
  }
  ::sched_setaffinity(0, sizeof own, &own);
}

void be_rank(int memory, int rank, int size, int64_t count, int times) {
  stay_on_core(rank);
  Communicator ranks(memory, rank, size, {.overlap = false});
  auto* data = static_cast<float*>(ranks.window(static_cast<size_t>(count) * sizeof(float)));
  fill(data, count, rank);
  ranks.wait(ranks.start_sum(data, count));
  check(data, count, size);
  fill(data, count, rank);
  std::vector<double> seconds;
  for (int i = -3; i < times; ++i) {
    ranks.barrier();
    const hone::Stopwatch watch;
    ranks.wait(ranks.start_sum(data, count));
    if (i >= 0) seconds.push_back(watch.seconds());
  }
  if (rank != 0) return;
  for (const double each : seconds) std::printf("%.6f\n", 1e3 * each);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const int64_t floats = std::atoll(words[1]) / static_cast<int64_t>(sizeof(float));
  const int times = std::atoi(words[2]);
  const int size = count > 3 ? std::atoi(words[3]) : 2;
  const int memory = hone::comm::HostMemory::create(size);
  for (int rank = 0; rank < size; ++rank) {
    if (::fork() != 0) continue;
    try {
      be_rank(memory, rank, size, floats, times);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  int code = 0;
  for (int rank = 0; rank < size; ++rank) {
    int status = 0;
    ::wait(&status);
    if (status != 0) code = 1;
  }
  return code;
}

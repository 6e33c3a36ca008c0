// MPI_Allreduce in place of allreduce_bench's sums; started by mpirun.
//
//   mpirun -np 2 allreduce_mpi BYTES TIMES

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t floats = std::atoll(words[1]) / static_cast<int64_t>(sizeof(float));
  const int times = std::atoi(words[2]);
  std::vector<float> data(static_cast<size_t>(floats));
  const auto value = [](int64_t i, int of) { return static_cast<float>((i + 7 * of) % 1000); };
  for (int64_t i = 0; i < floats; ++i) data[static_cast<size_t>(i)] = value(i, rank);
  const auto sum = [&] {
    MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(floats), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  };
  sum();
  for (int64_t i = 0; i < floats; ++i) {
    float wanted = 0;
    for (int of = 0; of < size; ++of) wanted += value(i, of);
    if (data[static_cast<size_t>(i)] != wanted) MPI_Abort(MPI_COMM_WORLD, 1);
    data[static_cast<size_t>(i)] = value(i, rank);
  }
  for (int i = -3; i < times; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    sum();
    const double end = MPI_Wtime();
    if (i >= 0 && rank == 0) std::printf("%.6f\n", 1e3 * (end - begin));
  }
  MPI_Finalize();
  return 0;
}

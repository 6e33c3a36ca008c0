// Searches .npy files of vectors and queries as bench/concepts.py hands them: prints the neighbours
// that were found and the fastest and median processor time of a search, as JSON.
// Arguments: VECTORS QUERIES WIDTH K SCAN(exact or bytes) RUNS

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "base/file.h"
#include "explain/top_k.h"

namespace {

using namespace hone;

/// fp32 rows [count, width] of a .npy file that numpy wrote in C order, version 1.
struct Rows {
  int64_t count, width;
  Buffer data;

  Rows(const char* path, int64_t row_width) : count(0), width(row_width) {
    const std::string bytes = read_file(path, uint64_t{1} << 33);
    const size_t header =
        10 + static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]);
    const size_t size = bytes.size() - header;
    count = static_cast<int64_t>(size / sizeof(float)) / width;
    data = Buffer(size);
    std::memcpy(data.data(), bytes.data() + header, size);
  }
};

/// Gives the seconds that a processor has spent on this program, whose one thread searches: other
/// programs disturb them less than they do a clock.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int64_t width = std::atoll(argv[3]), k = std::atoll(argv[4]);
  const Rows vectors(argv[1], width), queries(argv[2], width);
  const bool bytes = std::strcmp(argv[5], "bytes") == 0;
  ThreadPool pool(1);
  const explain::TopK search({DType::f32, vectors.count, width, vectors.data.data()},
                             bytes ? explain::Scan::bytes : explain::Scan::exact, pool);
  std::vector<explain::Neighbour> found;
  std::vector<double> times;
  for (int64_t run = 0; run < std::atoll(argv[6]); ++run) {
    const double begin = processor_seconds();
    search.search(queries.data.as<float>(), queries.count, k, {}, pool, found);
    times.push_back(processor_seconds() - begin);
  }
  std::sort(times.begin(), times.end());
  fmt::print("{{\"best\":{},\"median\":{},\"indices\":[", times.front(), times[times.size() / 2]);
  for (size_t i = 0; i < found.size(); ++i) fmt::print("{}{}", i ? "," : "", found[i].index);
  fmt::print("]}}\n");
}

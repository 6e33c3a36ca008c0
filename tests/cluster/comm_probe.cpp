// Ranks that do nothing but sum, for tests of how a run ends where one of them is lost.
//
//   mpirun -np N comm_probe STEPS FLOATS TIMEOUT FILE [FAULT]    FILE has the step that rank 0 is
//   at
//
// The last rank commits the FAULT at step 10: it is to `skip` the sum, or to `shorten` it.

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/run_failed.h"
#include "comm/world.h"

namespace {

using namespace hone;

void step(comm::Communicator& ranks, int64_t number, std::vector<float>& data,
          const std::string& fault) {
  ranks.set_step(number);
  if (number == 10 && ranks.rank() + 1 == ranks.size()) {
    if (fault == "skip") return;
    if (fault == "shorten") data.pop_back();
  }
  std::fill(data.begin(), data.end(), static_cast<float>(ranks.rank() + 1));
  ranks.sum(std::span<float>(data));
  const auto wanted = static_cast<float>(ranks.size() * (ranks.size() + 1) / 2);
  for (const float value : data) {
    if (value != wanted) fail(ErrorKind::failed, "step {}: {} is not {}", number, value, wanted);
  }
}

int run(char** words, const std::string& fault) {
  comm::Options options;
  options.watch.timeout = std::atof(words[3]);
  options.watch.on_lost = [](const std::string& why, bool told_here) {
    if (told_here) fmt::print(stderr, "hone: {}\n", why);
    ::_exit(1);
  };
  const auto ranks = comm::open_world(comm::find_launch(), options);
  std::vector<float> data(static_cast<size_t>(std::atoll(words[2])));
  for (int64_t number = 1; number <= std::atoll(words[1]); ++number) {
    step(*ranks, number, data, fault);
    if (ranks->rank() == 0) std::ofstream(words[4]) << number << "\n";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (ranks->rank() == 0)
    fmt::print("{} ranks, exposed {:.3f} s\n", ranks->size(), ranks->times().exposed);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) return 2;
  std::signal(SIGTERM,
              SIG_IGN);  // mpirun sends it where one rank has ended, and others have to tell
  try {
    return run(words, count > 5 ? words[5] : "");
  } catch (const comm::RunFailed& error) {
    if (error.told_here()) fmt::print(stderr, "hone: {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "hone: {}\n", error.what());
  }
  return 1;
}

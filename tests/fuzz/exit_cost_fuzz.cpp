#include "fuzz/memory_file.h"
#include "fuzz/refusal.h"
#include "models/exit_cost.h"

/// A file that is taken has shares that rise to 1.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hone::MemoryFile file(data, size);
  hone::accepts(file.path() + ": ", [&] {
    const std::vector<double> shares = hone::models::read_exit_cost(file.path()).shares();
    if (!(shares.back() > 0.999 && shares.back() < 1.001)) __builtin_trap();
  });
  return 0;
}

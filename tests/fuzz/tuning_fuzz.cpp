// layers: kernels_cuda
#include "fuzz/memory_file.h"
#include "fuzz/refusal.h"
#include "kernels/cuda/tuning.h"

/// Without a GPU every file is read whole, and is refused or of no use here.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hone::MemoryFile file(data, size);
  hone::accepts(file.path() + ": ", [&] { hone::kernels::cuda::load_tuning(file.path()); });
  return 0;
}

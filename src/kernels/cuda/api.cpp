#include "kernels/cuda/api.h"

#include <algorithm>

#include "base/error.h"
#include "device/cuda.h"

namespace hone::kernels::cuda {

const KernelApi& kernel_api() {
  static const KernelApi* const table = [] {
    cuda_api();  // says why where there is none
    using Entry = const KernelApi* (*)();
    const auto entry = reinterpret_cast<Entry>(cuda_symbol("hone_cuda_kernel_api"));
    const KernelApi* found = entry ? entry() : nullptr;
    if (!found || found->version != kKernelApiVersion) {
      fail(ErrorKind::unsupported, "{} has not the kernels of this version of hone",
           cuda_info().plugin);
    }
    return found;
  }();
  return *table;
}

std::vector<OptimizerPiece> optimizer_pieces(const std::vector<OptimizerRange>& ranges) {
  std::vector<OptimizerPiece> pieces;
  for (const OptimizerRange& range : ranges) {
    for (int64_t begin = range.begin; begin < range.end; begin += kOptimizerPiece) {
      const auto count = static_cast<int32_t>(std::min(kOptimizerPiece, range.end - begin));
      pieces.push_back({begin, count, range.decay ? 1 : 0, range.lr_scale, 0});
    }
  }
  return pieces;
}

}  // namespace hone::kernels::cuda

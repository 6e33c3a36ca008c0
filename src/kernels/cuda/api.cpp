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
    const bool rows = range.touched && marks_rows(range.row_width, range.quantized);
    const int64_t width = rows ? range.row_width : 1;
    const int64_t unit = width * (range.quantized ? rows_of_blocks(width) : 1);
    const int64_t step = kOptimizerPiece / unit * unit;
    for (int64_t begin = range.begin; begin < range.end; begin += step) {
      OptimizerPiece piece = {};
      piece.begin = begin;
      piece.shift = range.shift;
      piece.gradient_shift = range.gradient_shift;
      piece.quantized = range.quantized ? 1 : 0;
      piece.count = static_cast<int32_t>(std::min(step, range.end - begin));
      piece.decay = range.decay ? 1 : 0;
      piece.lr_scale = range.lr_scale;
      piece.zero = range.zero ? 1 : 0;
      if (rows) {
        piece.row_width = static_cast<int32_t>(width);
        piece.touched = range.touched + (begin - range.begin) / width;
      }
      pieces.push_back(piece);
    }
  }
  return pieces;
}

}  // namespace hone::kernels::cuda

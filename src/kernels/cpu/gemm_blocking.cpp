#include "kernels/cpu/gemm_blocking.h"

#include <algorithm>

namespace hone::kernels {
namespace {

constexpr int64_t kTasksPerWorker = 8;  // 16 cost int8 3 to 6%, on Zen 4 and with AMX
// Rows a multiple of this apart fall on one or two sets of the L1 cache and throw each other out.
constexpr size_t kBadStride = 2048;
constexpr int64_t kCopyPadding = 9;  // cache lines; 1 and 3 were measured slower by up to 12%

}  // namespace

Blocking::Blocking(const GemmKernel& with, const GemmArgs& args, int threads) : kernel(with) {
  const PackedMatrix& b = *args.b;
  const size_t size = dtype_size(args.a_dtype);
  copy_all = args.patches || kernel.copies_a || size != kernel.a_size || b.k % kernel.k_unit != 0 ||
             static_cast<size_t>(args.lda) * size % kBadStride == 0;
  width = panel_rows(b.isa);
  panels = ceil_div(b.n, width);
  depth = packed_depth(b.dtype, b.k);
  panel_stride = panel_bytes(b.isa, b.dtype, b.k);
  units = ceil_div(args.m, kernel.row_unit);
  tiles = ceil_div(units, kernel.tile_rows / kernel.row_unit);
  most_tiles = kBlockRows / kernel.tile_rows;
  const int64_t block_rows = std::min(tiles, most_tiles) * kernel.tile_rows;
  const bool sliced = block_rows * depth * static_cast<int64_t>(kernel.a_size) > kernel.whole;
  slice = sliced ? kernel.slice : std::max<int64_t>(depth, 1);
  slices = std::max<int64_t>(1, ceil_div(depth, slice));
  blocks = std::max<int64_t>(1, ceil_div(tiles, most_tiles));
  const int64_t wanted = ceil_div(threads == 1 ? 1 : threads * kTasksPerWorker, blocks);
  const int64_t chunk_panels = std::max<int64_t>(1, panels / wanted);
  chunks = std::max<int64_t>(1, ceil_div(panels, chunk_panels));
}

int64_t Blocking::copy_stride() const {
  const int64_t line = static_cast<int64_t>(kCacheLine / kernel.a_size);
  return round_up(depth, line) + kCopyPadding * line;
}

size_t Blocking::copy_bytes() const {
  if (!copy_all && kernel.row_unit == 1) return 0;
  const int64_t copied_tiles = copy_all ? std::min(tiles, most_tiles) : 1;
  return static_cast<size_t>(copied_tiles * kernel.tile_rows * copy_stride()) * kernel.a_size;
}

size_t Blocking::worker_bytes() const {
  const int64_t waiting = slices == 1 ? 1 : std::min(tiles, most_tiles) * ceil_div(panels, chunks);
  return kCacheLine + copy_bytes() + static_cast<size_t>(waiting * sums_size()) * sizeof(float);
}

}  // namespace hone::kernels

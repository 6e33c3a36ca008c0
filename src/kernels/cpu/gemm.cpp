#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm_kernel.h"

// Rows of A are cut into tiles of at most kernel->tile_rows, tiles into blocks, and the panels of
// the weight into chunks; a task is one block by one chunk. Inside a task k is cut into slices;
// partial sums wait in the worker's scratch. None of this changes a bit: every element of C is one
// chain of multiply-adds along k.
//
// A is read where it is. Rows that the kernel cannot read so, or not fast, are first copied by
// each worker that needs them.

namespace hone::kernels {
namespace {

constexpr int64_t kBlockRows = 128;  // by 768 fp32: under half of an L2 cache of 1 MB
constexpr int64_t kTasksPerWorker = 16;
constexpr size_t kCacheLine = 64;
// Rows a multiple of this apart fall on one or two sets of the L1 cache and throw each other out.
constexpr size_t kBadStride = 2048;
constexpr int64_t kCopyPadding = 9;     // cache lines; 1 and 3 were measured slower by up to 12%
constexpr int64_t kOwnAhead = 8 << 10;  // bytes to fetch ahead where one tile streams the weight

struct Cut {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
/// Part `index` of `parts` nearly equal parts of [0, total).
Cut part(int64_t total, int64_t parts, int64_t index) {
  return {index * total / parts, (index + 1) * total / parts};
}

const GemmKernel& kernel_of(const PackedMatrix& matrix) {
  if (matrix.dtype == DType::bf16 && matrix.isa == Isa::amx) return *gemm_amx_kernel();
  if (matrix.dtype == DType::bf16 && matrix.isa == Isa::avx512_bf16) return *gemm_bf16_kernel();
  return *gemm_f32_kernel(matrix.isa, matrix.dtype);
}

struct Blocking {
  const GemmKernel& kernel;
  bool copy_all = false;  // of A; otherwise only a last tile that is no whole unit of rows
  int64_t width = 0;      // of a panel
  int64_t panels = 0;     // of the weight
  int64_t depth = 0;      // k, rounded up
  int64_t slice = 0;      // of k
  int64_t slices = 0;
  int64_t units = 0;       // of rows
  int64_t tiles = 0;       // of units
  int64_t most_tiles = 0;  // of a block
  int64_t blocks = 0;      // of tiles
  int64_t chunks = 0;      // of panels

  Blocking(const GemmKernel& with, const GemmArgs& args, int threads);

  /// Between rows of copied A.
  int64_t copy_stride() const {
    const int64_t line = static_cast<int64_t>(kCacheLine / kernel.a_size);
    return round_up(depth, line) + kCopyPadding * line;
  }
  int64_t sums_size() const {  // of one tile by one panel
    return round_up(kernel.tile_rows, kernel.row_unit) * width;
  }
  size_t copy_bytes() const {
    if (!copy_all && kernel.row_unit == 1) return 0;
    const int64_t copied_tiles = copy_all ? std::min(tiles, most_tiles) : 1;
    return static_cast<size_t>(copied_tiles * kernel.tile_rows * copy_stride()) * kernel.a_size;
  }
  size_t worker_bytes() const {
    const int64_t waiting =
        slices == 1 ? 1 : std::min(tiles, most_tiles) * ceil_div(panels, chunks);
    return kCacheLine + copy_bytes() + static_cast<size_t>(waiting * sums_size()) * sizeof(float);
  }
};

Blocking::Blocking(const GemmKernel& with, const GemmArgs& args, int threads) : kernel(with) {
  const PackedMatrix& b = *args.b;
  const size_t size = dtype_size(args.a_dtype);
  copy_all = size != kernel.a_size || b.k % kernel.k_unit != 0 ||
             static_cast<size_t>(args.lda) * size % kBadStride == 0;
  width = panel_rows(b.isa);
  panels = ceil_div(b.n, width);
  depth = packed_depth(b.dtype, b.k);
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

const char* address(const std::byte* at) { return reinterpret_cast<const char*>(at); }

/// One worker's share of the workspace.
struct Scratch {
  int64_t* copied_block;  // the block of A whose rows `copy` holds, or -1
  std::byte* copy;
  float* sums;
};

Scratch scratch_of(const Blocking& cut, void* workspace, int worker) {
  auto* base =
      static_cast<std::byte*>(workspace) + cut.worker_bytes() * static_cast<size_t>(worker);
  return {reinterpret_cast<int64_t*>(base), base + kCacheLine,
          reinterpret_cast<float*>(base + kCacheLine + cut.copy_bytes())};
}

struct Rows {
  const std::byte* a;
  int64_t lda;
};

struct Task {
  const GemmArgs& args;
  const Blocking& cut;
  Cut tiles;
  Cut panels;
  Scratch scratch;

  Cut rows(int64_t tile) const {
    const Cut units = part(cut.units, cut.tiles, tile);
    return {units.begin * cut.kernel.row_unit, std::min(units.end * cut.kernel.row_unit, args.m)};
  }
  const std::byte* row_of_a(int64_t row) const {
    return static_cast<const std::byte*>(args.a) +
           static_cast<size_t>(row * args.lda) * dtype_size(args.a_dtype);
  }
  bool is_copied(int64_t tile) const {
    return cut.copy_all || rows(tile).size() % cut.kernel.row_unit != 0;
  }
  std::byte* copy_of(int64_t tile) const {
    const int64_t index = cut.copy_all ? tile - tiles.begin : 0;
    return scratch.copy + static_cast<size_t>(index * cut.kernel.tile_rows * cut.copy_stride()) *
                              cut.kernel.a_size;
  }
  Rows operand(int64_t tile) const {
    if (is_copied(tile)) return {copy_of(tile), cut.copy_stride()};
    return {row_of_a(rows(tile).begin), args.lda};
  }

  void copy_tile(int64_t tile) const {
    const Cut r = rows(tile);
    const size_t size = cut.kernel.a_size;
    const size_t stride = static_cast<size_t>(cut.copy_stride()) * size;
    const size_t used = static_cast<size_t>(args.b->k) * size;
    const size_t filled = static_cast<size_t>(cut.depth) * size;
    std::byte* to = copy_of(tile);
    for (int64_t row = r.begin; row < r.end; ++row, to += stride) {
      cut.kernel.copy_row(row_of_a(row), args.b->k, to);
      std::memset(to + used, 0, filled - used);
    }
    for (int64_t row = r.size(); row % cut.kernel.row_unit != 0; ++row, to += stride) {
      std::memset(to, 0, filled);
    }
  }

  void copy() const {
    for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      if (is_copied(tile)) copy_tile(tile);
    }
  }

  /// C's lines are fetched while the tile is multiplied; the sums come to them all at once.
  void prefetch_c(const Cut& r, int64_t column) const {
    const size_t size = dtype_size(args.c_dtype);
    const auto* c = static_cast<const std::byte*>(args.c) +
                    static_cast<size_t>(r.begin * args.ldc + column) * size;
    for (int64_t row = r.begin; row < r.end; ++row) {
      __builtin_prefetch(c, 1);
      __builtin_prefetch(c + kCacheLine, 1);
      c += static_cast<size_t>(args.ldc) * size;
    }
  }

  const std::byte* weight(int64_t panel, int64_t k) const {
    return static_cast<const std::byte*>(args.b->data) +
           static_cast<size_t>((panel * cut.depth + k) * cut.width) * dtype_size(args.b->dtype);
  }

  /// The next panel's slice comes from memory while this one is multiplied, a share with each tile.
  GemmFetch fetch(int64_t panel, const Cut& k, int64_t tile) const {
    const GemmKernel& kernel = cut.kernel;
    const std::byte* here = weight(panel, k.begin);
    const int64_t steps = k.size() / kernel.k_step;
    const int64_t bytes = weight(panel, k.end) - here;
    if (tiles.size() == 1) {
      // With few rows memory is the limit, and the processor's own prefetching does better.
      const bool useful = kernel.fetches_ahead && rows(tile).size() >= kernel.tile_rows - 2;
      return {address(here) + kOwnAhead, useful ? bytes / std::max<int64_t>(steps, 1) : 0};
    }
    const int64_t share = steps * static_cast<int64_t>(kCacheLine);
    const int64_t begin = (tile - tiles.begin) * share;
    const bool useful = (kernel.fetches_ahead || cut.slices > 1) && panel + 1 < panels.end;
    if (!useful || begin >= bytes) return {address(here), 0};
    return {address(weight(panel + 1, k.begin) + begin), static_cast<int64_t>(kCacheLine)};
  }

  void multiply(int64_t slice, int64_t panel, GemmFinish finish) const {
    const GemmKernel& kernel = cut.kernel;
    const Cut k = {slice * cut.slice, std::min((slice + 1) * cut.slice, cut.depth)};
    const bool last = slice + 1 == cut.slices;
    const int64_t column = panel * cut.width;
    float* sums = scratch.sums;
    if (cut.slices > 1) sums += (panel - panels.begin) * tiles.size() * cut.sums_size();
    for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      const Cut r = rows(tile);
      const Rows from = operand(tile);
      if (last) prefetch_c(r, column);
      kernel.multiply(r.size(), from.a + static_cast<size_t>(k.begin) * kernel.a_size, from.lda,
                      weight(panel, k.begin), k.size(), slice > 0, sums, fetch(panel, k, tile));
      if (last) {
        finish(args, {r.begin, column, r.size(), std::min(cut.width, args.b->n - column), sums});
      }
      if (cut.slices > 1) sums += cut.sums_size();
    }
  }

  void run(GemmFinish finish) const {
    if (cut.kernel.begin) cut.kernel.begin();
    for (int64_t slice = 0; slice < cut.slices; ++slice) {
      for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
        multiply(slice, panel, finish);
      }
    }
    if (cut.kernel.end) cut.kernel.end();
  }
};

}  // namespace

size_t gemm_workspace_with(const GemmKernel& kernel, const GemmArgs& args, int threads) {
  return Blocking(kernel, args, threads).worker_bytes() * static_cast<size_t>(threads);
}

void gemm_with(const GemmKernel& kernel, const GemmArgs& args, void* workspace, ThreadPool& pool) {
  if (args.m <= 0 || args.b->n <= 0) return;
  const Blocking cut(kernel, args, pool.size());
  const GemmFinish finish = gemm_finish(args.b->isa);
  for (int worker = 0; worker < pool.size(); ++worker) {
    *scratch_of(cut, workspace, worker).copied_block = -1;
  }
  pool.run(cut.blocks * cut.chunks, [&](int64_t index, int worker) {
    const int64_t block = index / cut.chunks;
    const Task task{args, cut, part(cut.tiles, cut.blocks, block),
                    part(cut.panels, cut.chunks, index % cut.chunks),
                    scratch_of(cut, workspace, worker)};
    if (*task.scratch.copied_block != block) {
      task.copy();
      *task.scratch.copied_block = block;
    }
    task.run(finish);
  });
}

size_t gemm_workspace(const GemmArgs& args, int threads) {
  return gemm_workspace_with(kernel_of(*args.b), args, threads);
}

void gemm(const GemmArgs& args, void* workspace, ThreadPool& pool) {
  gemm_with(kernel_of(*args.b), args, workspace, pool);
}

}  // namespace hone::kernels

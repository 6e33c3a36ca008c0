#include "kernels/cpu/gemm.h"

#include <algorithm>

#include "kernels/cpu/gemm_kernel.h"

// Rows of A are cut into tiles of at most kernel->tile_rows, tiles into blocks, and the panels of
// the weight into chunks; a task is one block by one chunk. A worker packs a block of A when its
// first task of that block comes. Inside a task k is cut into slices, so that a slice of the block
// stays in the L2 cache while the chunk's panels pass by; partial sums wait in the worker's
// scratch. None of this changes a bit: every element of C is one chain of fused multiply-adds along
// k.

namespace hone::kernels {
namespace {

constexpr int64_t kSliceDepth = 768;
constexpr int64_t kBlockRows = 112;
constexpr int64_t kTasksPerWorker = 4;
constexpr size_t kCacheLine = 64;

struct Cut {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
/// Part `index` of `parts` nearly equal parts of [0, total).
Cut part(int64_t total, int64_t parts, int64_t index) {
  return {index * total / parts, (index + 1) * total / parts};
}

struct Blocking {
  const GemmKernel* kernel;
  int64_t width;   // of a panel
  int64_t panels;  // of the weight
  int64_t depth;   // k, rounded up
  int64_t slices;  // of k
  int64_t tiles;   // of rows
  int64_t blocks;  // of tiles
  int64_t chunks;  // of panels
  int64_t block_tiles() const { return ceil_div(tiles, blocks); }
  size_t tile_bytes() const {
    return static_cast<size_t>(round_up(kernel->tile_rows, kernel->row_unit) * depth) *
           kernel->a_size;
  }
  int64_t sums_size() const {  // of one tile by one panel
    return round_up(kernel->tile_rows, kernel->row_unit) * width;
  }
  size_t packed_bytes(int64_t block_tiles) const {
    return static_cast<size_t>(
        round_up(static_cast<int64_t>(tile_bytes()) * block_tiles, kCacheLine));
  }
  size_t worker_bytes(int64_t block_tiles) const {
    const int64_t waiting = slices == 1 ? 1 : block_tiles * ceil_div(panels, chunks);
    return kCacheLine + packed_bytes(block_tiles) +
           static_cast<size_t>(waiting * sums_size()) * sizeof(float);
  }
};

int64_t most_block_tiles(const GemmKernel& kernel) {
  return std::max<int64_t>(1, kBlockRows / kernel.tile_rows);
}

Blocking block(const GemmArgs& args, int threads) {
  const PackedMatrix& b = *args.b;
  Blocking cut{};
  cut.kernel = gemm_kernel(b.isa, b.dtype);
  cut.width = panel_rows(b.isa);
  cut.panels = ceil_div(b.n, cut.width);
  cut.depth = packed_depth(b.dtype, b.k);
  cut.slices = std::max<int64_t>(1, ceil_div(cut.depth, kSliceDepth));
  cut.tiles = ceil_div(args.m, cut.kernel->tile_rows);
  cut.blocks = std::max<int64_t>(1, ceil_div(cut.tiles, most_block_tiles(*cut.kernel)));
  const int64_t wanted_tasks = threads == 1 ? 1 : threads * kTasksPerWorker;
  cut.chunks =
      std::clamp<int64_t>(ceil_div(wanted_tasks, cut.blocks), 1, std::max<int64_t>(1, cut.panels));
  return cut;
}

/// One worker's share of the workspace.
struct Scratch {
  int64_t* packed_block;  // which block of A `packed` holds, or -1
  std::byte* packed;
  float* sums;
};

Scratch scratch_of(const Blocking& cut, void* workspace, int worker) {
  auto* base = static_cast<std::byte*>(workspace) +
               cut.worker_bytes(cut.block_tiles()) * static_cast<size_t>(worker);
  return {reinterpret_cast<int64_t*>(base), base + kCacheLine,
          reinterpret_cast<float*>(base + kCacheLine + cut.packed_bytes(cut.block_tiles()))};
}

struct Task {
  const GemmArgs& args;
  const Blocking& cut;
  Cut tiles;
  Cut panels;
  Scratch scratch;

  Cut rows(int64_t tile) const { return part(args.m, cut.tiles, tile); }
  std::byte* packed(int64_t tile) const {
    return scratch.packed + cut.tile_bytes() * static_cast<size_t>(tile - tiles.begin);
  }

  void pack() const {
    const size_t size = dtype_size(args.a_dtype);
    for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      const Cut r = rows(tile);
      const auto* a =
          static_cast<const std::byte*>(args.a) + static_cast<size_t>(r.begin * args.lda) * size;
      cut.kernel->pack_a(a, args.lda, r.size(), args.b->k, packed(tile));
    }
  }

  void multiply(int64_t slice, GemmFinish finish) const {
    const Cut k = {slice * kSliceDepth, std::min((slice + 1) * kSliceDepth, cut.depth)};
    const size_t b_size = dtype_size(args.b->dtype);
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const auto* b = static_cast<const std::byte*>(args.b->data) +
                      static_cast<size_t>((panel * cut.depth + k.begin) * cut.width) * b_size;
      for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
        const Cut r = rows(tile);
        const size_t packed_rows = static_cast<size_t>(round_up(r.size(), cut.kernel->row_unit));
        const std::byte* a =
            packed(tile) + static_cast<size_t>(k.begin) * packed_rows * cut.kernel->a_size;
        float* sums = scratch.sums;
        if (cut.slices > 1) {
          sums += ((panel - panels.begin) * tiles.size() + tile - tiles.begin) * cut.sums_size();
        }
        cut.kernel->multiply(r.size(), a, b, k.size(), slice > 0, sums);
        if (slice + 1 == cut.slices) {
          const int64_t column = panel * cut.width;
          finish(args, {r.begin, column, r.size(), std::min(cut.width, args.b->n - column), sums});
        }
      }
    }
  }
};

}  // namespace

size_t gemm_workspace(const GemmArgs& args, int threads) {
  const Blocking cut = block(args, threads);
  // Not cut.block_tiles(): 9 tiles make blocks of 5 and 4, and need less than 8 do.
  const int64_t block_tiles = std::min(cut.tiles, most_block_tiles(*cut.kernel));
  return cut.worker_bytes(block_tiles) * static_cast<size_t>(threads);
}

void gemm(const GemmArgs& args, void* workspace, ThreadPool& pool) {
  if (args.m <= 0 || args.b->n <= 0) return;
  const Blocking cut = block(args, pool.size());
  const GemmFinish finish = gemm_finish(args.b->isa);
  for (int worker = 0; worker < pool.size(); ++worker) {
    *scratch_of(cut, workspace, worker).packed_block = -1;
  }
  pool.run(cut.blocks * cut.chunks, [&](int64_t index, int worker) {
    const int64_t block_index = index / cut.chunks;
    const Task task{args, cut, part(cut.tiles, cut.blocks, block_index),
                    part(cut.panels, cut.chunks, index % cut.chunks),
                    scratch_of(cut, workspace, worker)};
    if (*task.scratch.packed_block != block_index) {
      task.pack();
      *task.scratch.packed_block = block_index;
    }
    for (int64_t slice = 0; slice < cut.slices; ++slice) task.multiply(slice, finish);
  });
}

}  // namespace hone::kernels

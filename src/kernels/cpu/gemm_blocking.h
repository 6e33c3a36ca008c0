#pragma once

#include "kernels/cpu/gemm_kernel.h"

/// Says how one product is cut up. Rows of A are cut into tiles of at most kernel.tile_rows, tiles
/// into blocks, and the panels of the weight into chunks; a task is one block by one chunk. Inside
/// a task k may be cut into slices; partial sums wait in the worker's scratch. None of this changes
/// a bit: every element of C is one chain of multiply-adds along k.
namespace hone::kernels {

struct Cut {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
/// Part `index` of `parts` nearly equal parts of [0, total).
inline Cut part(int64_t total, int64_t parts, int64_t index) {
  return {index * total / parts, (index + 1) * total / parts};
}

/// A block has at most this many rows; by 768 fp32, they take under half of an L2 cache of 1 MB.
constexpr int64_t kBlockRows = 128;
constexpr int64_t kMostTiles = kBlockRows / 4;  ///< most tiles of a block, in any kernel

struct Blocking {
  const GemmKernel& kernel;
  bool copy_all = false;    ///< whether all of A is copied; otherwise only a last tile that is no
                            ///< whole unit of rows
  int64_t width = 0;        ///< columns of a panel
  int64_t panels = 0;       ///< panels of the weight
  int64_t depth = 0;        ///< k, rounded up
  size_t panel_stride = 0;  ///< bytes
  int64_t slice = 0;        ///< k of a slice
  int64_t slices = 0;       ///< slices of k
  int64_t units = 0;        ///< units of rows
  int64_t tiles = 0;        ///< tiles of units
  int64_t most_tiles = 0;   ///< most tiles of a block
  int64_t blocks = 0;       ///< blocks of tiles
  int64_t chunks = 0;       ///< chunks of panels

  Blocking(const GemmKernel& with, const GemmArgs& args, int threads);

  /// Gives the elements between rows of copied A.
  int64_t copy_stride() const;
  /// Gives the floats of one tile by one panel.
  int64_t sums_size() const { return kernel.tile_rows * width; }
  size_t copy_bytes() const;
  /// Gives the bytes of a worker's scratch.
  size_t worker_bytes() const;
};

}  // namespace hone::kernels

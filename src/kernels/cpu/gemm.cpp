#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm_blocking.h"
#include "kernels/cpu/gemm_f64.h"

namespace hone::kernels {
namespace {

constexpr int64_t kOwnAhead = 8 << 10;  // bytes to fetch ahead where one tile streams the weight

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

/// Rows of A as the kernel reads them: in their place, or, where it cannot do that fast, in a copy
/// that each worker makes for itself.
struct Tile {
  Cut rows;
  const std::byte* a;
  int64_t lda;
};

/// Says what comes from memory while a tile is multiplied, and while it is finished.
struct Fetches {
  GemmFetch product;
  GemmFetch finish;
};

class Task {
 public:
  Task(const GemmArgs& args, const Blocking& cut, int64_t index, const Scratch& scratch);
  void run(GemmFinish finish) const;

 private:
  const std::byte* row_of_a(int64_t row) const;
  void copy_rows(const Cut& rows, std::byte* to) const;
  void copy_patch(int64_t row, std::byte* to) const;
  const std::byte* weight(int64_t panel, int64_t k) const;
  const std::byte* next_weight(int64_t panel, const Cut& k) const;
  Fetches fetches(int64_t panel, const Cut& k, int64_t tile) const;
  void prefetch_c(const Cut& rows, int64_t column) const;
  void multiply(const Cut& k, int64_t panel, GemmFinish finish) const;

  const GemmArgs& args_;
  const Blocking& cut_;
  const GemmKernel& kernel_;
  Cut panels_;
  float* sums_;
  int64_t count_;
  Tile tiles_[kMostTiles];
};

Task::Task(const GemmArgs& args, const Blocking& cut, int64_t index, const Scratch& scratch)
    : args_(args),
      cut_(cut),
      kernel_(cut.kernel),
      panels_(part(cut.panels, cut.chunks, index % cut.chunks)),
      sums_(scratch.sums) {
  const int64_t block = index / cut.chunks;
  const Cut tiles = part(cut.tiles, cut.blocks, block);
  const int64_t unit = kernel_.row_unit;
  std::byte* copy = scratch.copy;
  count_ = tiles.size();
  for (int64_t i = 0; i < count_; ++i) {
    const Cut units = part(cut.units, cut.tiles, tiles.begin + i);
    const Cut rows = {units.begin * unit, std::min(units.end * unit, args.m)};
    if (cut.copy_all || rows.size() % unit != 0) {
      if (*scratch.copied_block != block) copy_rows(rows, copy);
      tiles_[i] = {rows, copy, cut.copy_stride()};
      copy += static_cast<size_t>(kernel_.tile_rows * cut.copy_stride()) * kernel_.a_size;
    } else {
      tiles_[i] = {rows, row_of_a(rows.begin), args.lda};
    }
  }
  *scratch.copied_block = block;
}

const std::byte* Task::row_of_a(int64_t row) const {
  return static_cast<const std::byte*>(args_.a) +
         static_cast<size_t>(row * args_.lda) * dtype_size(args_.a_dtype);
}

/// Copies rows, with k filled up to whole units. Rows are not filled up: no row's sums see another
/// row.
void Task::copy_rows(const Cut& rows, std::byte* to) const {
  const size_t stride = static_cast<size_t>(cut_.copy_stride()) * kernel_.a_size;
  const size_t used = static_cast<size_t>(args_.b->k) * kernel_.a_size;
  const size_t filled = static_cast<size_t>(cut_.depth) * kernel_.a_size;
  for (int64_t row = rows.begin; row < rows.end; ++row, to += stride) {
    std::memset(to + used, 0, filled - used);
    args_.patches ? copy_patch(row, to) : kernel_.copy_row(row_of_a(row), args_.b->k, to);
  }
}

/// Copies a row that lies in images.
void Task::copy_patch(int64_t row, std::byte* to) const {
  const size_t size = dtype_size(args_.a_dtype);
  const auto* images = static_cast<const std::byte*>(args_.a);
  args_.patches->visit(row, [&](int64_t at, int64_t from, int64_t count) {
    std::byte* part = to + static_cast<size_t>(at) * kernel_.a_size;
    if (from < 0) {
      std::memset(part, 0, static_cast<size_t>(count) * kernel_.a_size);
    } else {
      kernel_.copy_row(images + static_cast<size_t>(from) * size, count, part);
    }
  });
}

const std::byte* Task::weight(int64_t panel, int64_t k) const {
  return static_cast<const std::byte*>(args_.b->data) +
         static_cast<size_t>(panel) * cut_.panel_stride +
         static_cast<size_t>(k * cut_.width) * dtype_size(args_.b->dtype);
}

/// Gives what this worker most likely multiplies next: tasks lie in a row (base/thread_pool.h).
const std::byte* Task::next_weight(int64_t panel, const Cut& k) const {
  if (panel + 1 < panels_.end) return weight(panel + 1, k.begin);
  if (k.end < cut_.depth) return weight(panels_.begin, k.end);
  return panels_.end < cut_.panels ? weight(panels_.end, 0) : nullptr;
}

/// The next slice comes from memory while this one is multiplied, a share with each tile.
Fetches Task::fetches(int64_t panel, const Cut& k, int64_t tile) const {
  const auto* here = reinterpret_cast<const char*>(weight(panel, k.begin));
  const Fetches nothing = {{here, 0}, {here, 0}};
  const int64_t steps = k.size() / kernel_.k_step;
  if (steps == 0) return nothing;
  const int64_t bytes = weight(panel, k.end) - weight(panel, k.begin);
  if (count_ == 1) {
    // Memory is the limit with few rows, and the processor's own prefetching does better.
    const int64_t rows = tiles_[0].rows.size();
    if (!kernel_.fetches_ahead || rows < kernel_.tile_rows - 2) return nothing;
    const int64_t later = k.end == cut_.depth ? std::min(bytes, rows * kernel_.finish_fetch) : 0;
    const int64_t stride = (bytes - later) / steps;
    const char* ahead = here + kOwnAhead;
    return {{ahead, stride}, {ahead + steps * stride, later / rows}};
  }
  const std::byte* next = next_weight(panel, k);
  if (!next || !(kernel_.fetches_next || cut_.slices > 1)) return nothing;
  return {{reinterpret_cast<const char*>(next + tile * bytes / count_),
           ceil_div(bytes / count_, steps)},
          {here, 0}};
}

/// C's lines are fetched while the tile is multiplied; the sums come to them all at once.
void Task::prefetch_c(const Cut& rows, int64_t column) const {
  const size_t size = dtype_size(args_.c_dtype);
  const auto* c = static_cast<const std::byte*>(args_.c) +
                  static_cast<size_t>(rows.begin * args_.ldc + column) * size;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    __builtin_prefetch(c, 1);
    __builtin_prefetch(c + kCacheLine, 1);
    c += static_cast<size_t>(args_.ldc) * size;
  }
}

void Task::multiply(const Cut& k, int64_t panel, GemmFinish finish) const {
  const bool last = k.end == cut_.depth;
  const int64_t column = panel * cut_.width;
  const int64_t columns = std::min(cut_.width, args_.b->n - column);
  const std::byte* b = weight(panel, k.begin);
  const int64_t waiting = cut_.slices > 1 ? cut_.sums_size() : 0;
  float* sums = sums_ + (panel - panels_.begin) * count_ * waiting;
  for (int64_t i = 0; i < count_; ++i, sums += waiting) {
    const Tile& tile = tiles_[i];
    const std::byte* a = tile.a + static_cast<size_t>(k.begin) * kernel_.a_size;
    if (last) prefetch_c(tile.rows, column);
    const Fetches fetch = fetches(panel, k, i);
    kernel_.multiply(tile.rows.size(), a, tile.lda, b, k.size(), k.begin > 0, sums, fetch.product);
    if (!last) continue;
    finish(args_, {tile.rows.begin, column, tile.rows.size(), columns, sums, fetch.finish});
  }
}

void Task::run(GemmFinish finish) const {
  if (kernel_.begin) kernel_.begin();
  for (int64_t slice = 0; slice < cut_.slices; ++slice) {
    const Cut k = {slice * cut_.slice, std::min((slice + 1) * cut_.slice, cut_.depth)};
    for (int64_t panel = panels_.begin; panel < panels_.end; ++panel) multiply(k, panel, finish);
  }
  if (kernel_.end) kernel_.end();
}

}  // namespace

size_t gemm_workspace_with(const GemmKernel& kernel, const GemmArgs& args, int threads) {
  return Blocking(kernel, args, threads).worker_bytes() * static_cast<size_t>(threads);
}

void gemm_with(const GemmKernel& kernel, const GemmArgs& args, void* workspace, ThreadPool& pool) {
  if (args.m <= 0 || args.b->n <= 0) return;
  const Blocking cut(kernel, args, pool.size());
  const GemmFinish finish = gemm_finish(args.b->isa, args.b->dtype);
  for (int worker = 0; worker < pool.size(); ++worker) {
    *scratch_of(cut, workspace, worker).copied_block = -1;
  }
  pool.run(cut.blocks * cut.chunks, [&](int64_t index, int worker) {
    Task(args, cut, index, scratch_of(cut, workspace, worker)).run(finish);
  });
}

size_t gemm_workspace(const GemmArgs& args, int threads) {
  if (args.b->dtype == DType::f64) return 0;
  return gemm_workspace_with(gemm_kernel(args.b->isa, args.b->dtype), args, threads);
}

void gemm(const GemmArgs& args, void* workspace, ThreadPool& pool) {
  if (args.b->dtype == DType::f64) return gemm_f64(args, pool);
  gemm_with(gemm_kernel(args.b->isa, args.b->dtype), args, workspace, pool);
}

}  // namespace hone::kernels

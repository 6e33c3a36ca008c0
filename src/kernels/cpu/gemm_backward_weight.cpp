// dW^T[k, n] = x^T[k, m] * dy[m, n]: the forward product with x transposed as its rows and dy,
// packed, as its weight. Its tiles of sums have the layout of a packed weight, so the kernels add
// to dw where it is.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm_backward_pack.h"
#include "kernels/cpu/gemm_blocking.h"
#include "kernels/cpu/gemm_f64.h"
#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

/// A block has at most this many tokens, whose x and dy wait in the workspace. 512 and 1,024 were
/// measured alike: dw is read and written once a block, which takes 2% of the time.
constexpr int64_t kMostTokens = 512;

class WeightGradient {
 public:
  WeightGradient(const GemmKernel& kernel, const WeightGradientArgs& args)
      : kernel_(kernel),
        args_(args),
        size_(dtype_size(args.dtype)),
        width_(panel_rows(args.isa)),
        most_depth_(packed_depth(args.dtype, std::min(args.m, kMostTokens))),
        stride_(transposed_stride(most_depth_, kernel.a_size)) {}

  size_t workspace() const { return x_bytes() + dy_bytes() + row_bytes(); }
  void run(std::byte* workspace, ThreadPool& pool) const;

 private:
  /// A block of tokens, ready to be multiplied.
  struct Block {
    const Blocking& cut;
    const std::byte* x;
    const std::byte* dy;
  };
  /// One call of the kernel.
  struct Tile {
    const void* a;
    const void* b;
    int64_t rows, depth;
    float* sums;
    const float* next;  // next tile of dw
  };

  size_t x_bytes() const {
    return static_cast<size_t>(round_up(args_.k, kernel_.row_unit) * stride_) * kernel_.a_size;
  }
  size_t dy_bytes() const {
    return static_cast<size_t>(round_up(args_.n, width_) * most_depth_) * size_;
  }
  /// Gives the bytes of a block of rows that lie in images, one after the other.
  size_t row_bytes() const {
    if (!args_.patches) return 0;
    return static_cast<size_t>(std::min(args_.m, kMostTokens) * args_.k) * size_;
  }
  DType x_dtype() const { return kernel_.a_size == sizeof(float) ? DType::f32 : DType::bf16; }
  /// Holds the rows of x of a block.
  struct Rows {
    const std::byte* data;
    int64_t stride;
  };
  Rows rows_of_x(const Cut& tokens, std::byte* copies, ThreadPool& pool) const;
  void transpose_x(const Rows& rows, const Cut& tokens, int64_t chunk, std::byte* out) const;
  void pack_dy(const Cut& tokens, int64_t chunk, std::byte* out) const;
  void multiply(const Block& block, int64_t task) const;
  void multiply(const Block& block, const Cut& tiles, int64_t panel, const Cut& depth) const;
  void multiply(const Tile& tile, GemmFetch fetch) const;
  GemmFetch fetch(const Tile& tile, const std::byte* next_panel, int64_t index) const;
  Cut rows_of(const Blocking& cut, int64_t tile) const;

  const GemmKernel& kernel_;
  const WeightGradientArgs& args_;
  size_t size_;  // bytes of an element of x and dy
  int64_t width_;
  int64_t most_depth_;
  int64_t stride_;
};

const std::byte* element(const void* base, int64_t index, size_t size) {
  return static_cast<const std::byte*>(base) + static_cast<size_t>(index) * size;
}

/// Gives a block's rows where they are, or copied out of the images that they lie in.
WeightGradient::Rows WeightGradient::rows_of_x(const Cut& tokens, std::byte* copies,
                                               ThreadPool& pool) const {
  if (!args_.patches) return {element(args_.x, tokens.begin * args_.ldx, size_), args_.ldx};
  for_row_ranges(tokens.size(), args_.k, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::byte* out = copies + static_cast<size_t>(row * args_.k) * size_;
      args_.patches->visit(tokens.begin + row, [&](int64_t at, int64_t from, int64_t count) {
        std::byte* to = out + static_cast<size_t>(at) * size_;
        const size_t bytes = static_cast<size_t>(count) * size_;
        from < 0 ? std::memset(to, 0, bytes)
                 : std::memcpy(to, element(args_.x, from, size_), bytes);
      });
    }
  });
  return {copies, args_.k};
}

/// Rows of x^T are not filled up to whole units: no row's sums see another row.
void WeightGradient::transpose_x(const Rows& rows, const Cut& tokens, int64_t chunk,
                                 std::byte* out) const {
  const int64_t first = chunk * kPackColumns;
  const int64_t columns = std::min(kPackColumns, args_.k - first);
  transpose_tokens(args_.dtype, x_dtype(),
                   {element(rows.data, first, size_), rows.stride, tokens.size(), columns,
                    out + static_cast<size_t>(first * stride_) * kernel_.a_size, stride_,
                    packed_depth(args_.dtype, tokens.size())});
}

void WeightGradient::pack_dy(const Cut& tokens, int64_t chunk, std::byte* out) const {
  const int64_t first = chunk * kPackColumns;
  const int64_t columns = std::min(kPackColumns, args_.n - first);
  const int64_t depth = packed_depth(args_.dtype, tokens.size());
  auto* bias = static_cast<float*>(args_.dbias);
  pack_tokens(args_.dtype,
              {element(args_.dy, tokens.begin * args_.lddy + first, size_), args_.lddy,
               tokens.size(), columns, width_, depth,
               out + static_cast<size_t>(first * depth) * size_, bias ? bias + first : nullptr});
}

Cut WeightGradient::rows_of(const Blocking& cut, int64_t tile) const {
  const Cut units = part(cut.units, cut.tiles, tile);
  return {units.begin * kernel_.row_unit, std::min(units.end * kernel_.row_unit, args_.k)};
}

/// Says what is fetched during a tile that is the `index`th of its panel. dw comes from memory, so
/// its next tile is fetched: little by little, or, where the next panel of dy is to be fetched too,
/// at once. Measured: with AVX-512 (and so AMX) the one, with AVX2 the other is better by 3%.
GemmFetch WeightGradient::fetch(const Tile& tile, const std::byte* next_panel,
                                int64_t index) const {
  constexpr auto kLine = static_cast<int64_t>(kCacheLine);
  const int64_t steps = std::max<int64_t>(1, tile.depth / kernel_.k_step);
  const int64_t sums_bytes = tile.rows * width_ * static_cast<int64_t>(sizeof(float));
  const auto* next = reinterpret_cast<const char*>(tile.next);
  const bool tiles = kernel_.row_unit > 1;
  if (tiles || !kernel_.fetches_ahead) return {next, ceil_div(sums_bytes, steps)};
  for (int64_t i = 0; i < sums_bytes; i += kLine) __builtin_prefetch(next + i, 1);
  const int64_t begin = index * steps * kLine;
  const auto* panel = reinterpret_cast<const char*>(next_panel);
  if (begin >= tile.depth * width_ * static_cast<int64_t>(size_)) return {panel, 0};
  return {panel + begin, kLine};
}

void WeightGradient::multiply(const Tile& tile, GemmFetch fetch) const {
  if (tile.rows % kernel_.row_unit == 0) {
    kernel_.multiply(tile.rows, tile.a, stride_, tile.b, tile.depth, true, tile.sums, fetch);
    return;
  }
  alignas(64) float whole[32 * 32];  // a tile of AMX, which alone has units
  std::copy_n(tile.sums, tile.rows * width_, whole);
  kernel_.multiply(tile.rows, tile.a, stride_, tile.b, tile.depth, true, whole, fetch);
  std::copy_n(whole, tile.rows * width_, tile.sums);
}

void WeightGradient::multiply(const Block& block, const Cut& tiles, int64_t panel,
                              const Cut& depth) const {
  const int64_t panel_size = block.cut.depth * width_;
  const std::byte* b = element(block.dy, panel * panel_size + depth.begin * width_, size_);
  float* dw = static_cast<float*>(args_.dw) + panel * args_.k * width_;
  const float* next_dw = dw + (args_.k + rows_of(block.cut, tiles.begin).begin) * width_;
  for (int64_t i = tiles.begin; i < tiles.end; ++i) {
    const Cut rows = rows_of(block.cut, i);
    const Tile tile = {.a = element(block.x, rows.begin * stride_ + depth.begin, kernel_.a_size),
                       .b = b,
                       .rows = rows.size(),
                       .depth = depth.size(),
                       .sums = dw + rows.begin * width_,
                       .next = i + 1 < tiles.end ? dw + rows.end * width_ : next_dw};
    multiply(tile, fetch(tile, element(b, panel_size, size_), i - tiles.begin));
  }
}

void WeightGradient::multiply(const Block& block, int64_t task) const {
  const Blocking& cut = block.cut;
  const Cut tiles = part(cut.tiles, cut.blocks, task / cut.chunks);
  const Cut panels = part(cut.panels, cut.chunks, task % cut.chunks);
  if (kernel_.begin) kernel_.begin();
  for (int64_t slice = 0; slice < cut.slices; ++slice) {
    const Cut depth = {slice * cut.slice, std::min((slice + 1) * cut.slice, cut.depth)};
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      multiply(block, tiles, panel, depth);
    }
  }
  if (kernel_.end) kernel_.end();
}

void WeightGradient::run(std::byte* workspace, ThreadPool& pool) const {
  std::byte* x = workspace;
  std::byte* dy = workspace + x_bytes();
  std::byte* copies = dy + dy_bytes();
  const int64_t blocks = ceil_div(args_.m, kMostTokens);
  const int64_t x_chunks = ceil_div(args_.k, kPackColumns);
  const int64_t dy_chunks = ceil_div(args_.n, kPackColumns);
  for (int64_t i = 0; i < blocks; ++i) {
    const Cut tokens = part(args_.m, blocks, i);
    const Rows rows = rows_of_x(tokens, copies, pool);
    pool.run(x_chunks + dy_chunks, [&](int64_t chunk, int) {
      chunk < x_chunks ? transpose_x(rows, tokens, chunk, x)
                       : pack_dy(tokens, chunk - x_chunks, dy);
    });
    const PackedMatrix b = {args_.dtype, args_.isa, args_.n, tokens.size(), dy};
    const GemmArgs product = {.m = args_.k, .a = x, .a_dtype = x_dtype(), .lda = stride_, .b = &b};
    const Blocking cut(kernel_, product, pool.size());
    const Block block = {cut, x, dy};
    pool.run(cut.blocks * cut.chunks, [&](int64_t task, int) { multiply(block, task); });
  }
}

}  // namespace

size_t gemm_weight_gradient_workspace_with(const GemmKernel& kernel,
                                           const WeightGradientArgs& args) {
  return WeightGradient(kernel, args).workspace();
}

void gemm_weight_gradient_with(const GemmKernel& kernel, const WeightGradientArgs& args,
                               void* workspace, ThreadPool& pool) {
  WeightGradient(kernel, args).run(static_cast<std::byte*>(workspace), pool);
}

size_t gemm_weight_gradient_workspace(const WeightGradientArgs& args, int /*threads*/) {
  if (args.dtype == DType::f64) return 0;
  return gemm_weight_gradient_workspace_with(gemm_kernel(args.isa, args.dtype), args);
}

void gemm_weight_gradient(const WeightGradientArgs& args, void* workspace, ThreadPool& pool) {
  if (args.dtype == DType::f64) return gemm_weight_gradient_f64(args, pool);
  gemm_weight_gradient_with(gemm_kernel(args.isa, args.dtype), args, workspace, pool);
}

}  // namespace hone::kernels

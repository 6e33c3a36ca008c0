// dW^T[k, n] = x^T[k, tokens] * dy[tokens, n]: the forward product with x transposed as its rows
// and dy, packed, as its weight. Its tiles of sums have the layout of a packed weight, so the
// kernels add to dw where it is.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm_backward_pack.h"
#include "kernels/cpu/gemm_blocking.h"
#include "kernels/cpu/gemm_f64.h"

namespace hone::kernels {
namespace {

/// Of a block. Longer blocks read and write dw less often, shorter ones keep x and dy in the
/// caches.
constexpr int64_t kMostTokens = 512;

class WeightGradient {
 public:
  WeightGradient(const GemmKernel& kernel, const WeightGradientArgs& args, int threads)
      : args_(args),
        kernel_(kernel),
        threads_(threads),
        width_(panel_rows(args.isa)),
        blocks_(ceil_div(args.m, kMostTokens)),
        a_dtype_(kernel.a_size == sizeof(float) ? DType::f32 : DType::bf16),
        stride_(transposed_stride(most_depth(), kernel.a_size)) {}

  size_t x_bytes() const {
    return static_cast<size_t>(round_up(args_.k, kernel_.row_unit) * stride_) * kernel_.a_size;
  }
  size_t dy_bytes() const {
    return static_cast<size_t>(round_up(args_.n, width_) * most_depth()) * dtype_size(args_.dtype);
  }
  void run(std::byte* workspace, ThreadPool& pool) const;

 private:
  int64_t most_depth() const { return packed_depth(args_.dtype, std::min(args_.m, kMostTokens)); }
  void transpose_x(const Cut& tokens, int64_t chunk, std::byte* out) const;
  void pack_dy(const Cut& tokens, int64_t chunk, std::byte* out) const;
  void multiply(const Blocking& cut, int64_t task, const std::byte* x, const std::byte* dy) const;
  void multiply_panel(const Blocking& cut, const Cut& tiles, const Cut& depth, int64_t panel,
                      const std::byte* x, const std::byte* dy) const;
  Cut rows_of(const Blocking& cut, int64_t tile) const;

  const WeightGradientArgs& args_;
  const GemmKernel& kernel_;
  int threads_;
  int64_t width_;
  int64_t blocks_;  // of tokens
  DType a_dtype_;
  int64_t stride_;
};

const void* element(const void* base, int64_t index, size_t size) {
  return static_cast<const std::byte*>(base) + static_cast<size_t>(index) * size;
}

/// Rows of x^T are not filled up to whole units: no row's sums see another row.
void WeightGradient::transpose_x(const Cut& tokens, int64_t chunk, std::byte* out) const {
  const int64_t first = chunk * kPackColumns;
  const int64_t end = std::min(args_.k, first + kPackColumns);
  const size_t row_bytes = static_cast<size_t>(stride_) * kernel_.a_size;
  const int64_t depth = packed_depth(args_.dtype, tokens.size());
  out += static_cast<size_t>(first) * row_bytes;
  transpose_tokens(args_.dtype, a_dtype_,
                   {element(args_.x, tokens.begin * args_.ldx + first, dtype_size(args_.dtype)),
                    args_.ldx, tokens.size(), end - first, out, stride_, depth});
}

void WeightGradient::pack_dy(const Cut& tokens, int64_t chunk, std::byte* out) const {
  const int64_t first = chunk * kPackColumns;
  const int64_t depth = packed_depth(args_.dtype, tokens.size());
  const size_t size = dtype_size(args_.dtype);
  auto* bias = static_cast<float*>(args_.dbias);
  pack_tokens(args_.dtype,
              {element(args_.dy, tokens.begin * args_.lddy + first, size), args_.lddy,
               tokens.size(), std::min(kPackColumns, args_.n - first), width_, depth,
               out + static_cast<size_t>(first * depth) * size, bias ? bias + first : nullptr});
}

Cut WeightGradient::rows_of(const Blocking& cut, int64_t tile) const {
  const Cut units = part(cut.units, cut.tiles, tile);
  return {units.begin * kernel_.row_unit, std::min(units.end * kernel_.row_unit, args_.k)};
}

/// Meanwhile the next tile of dw is fetched.
void WeightGradient::multiply_panel(const Blocking& cut, const Cut& tiles, const Cut& depth,
                                    int64_t panel, const std::byte* x, const std::byte* dy) const {
  alignas(64) float edge[32 * 32];  // a tile of AMX is the largest, and alone has units
  const void* b = element(dy, (panel * cut.depth + depth.begin) * width_, dtype_size(args_.dtype));
  float* dw = static_cast<float*>(args_.dw) + panel * args_.k * width_;
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const Cut rows = rows_of(cut, tile);
    const void* a = element(x, rows.begin * stride_ + depth.begin, kernel_.a_size);
    float* sums = dw + rows.begin * width_;
    const int64_t count = rows.size() * width_;
    const float* next = tile + 1 < tiles.end
                            ? sums + count
                            : dw + (args_.k + rows_of(cut, tiles.begin).begin) * width_;
    const int64_t steps = std::max<int64_t>(1, depth.size() / kernel_.k_step);
    const GemmFetch fetch = {reinterpret_cast<const char*>(next),
                             ceil_div(count * static_cast<int64_t>(sizeof(float)), steps)};
    if (rows.size() % kernel_.row_unit == 0) {
      kernel_.multiply(rows.size(), a, stride_, b, depth.size(), true, sums, fetch);
    } else {
      std::copy_n(sums, count, edge);
      kernel_.multiply(rows.size(), a, stride_, b, depth.size(), true, edge, fetch);
      std::copy_n(edge, count, sums);
    }
  }
}

void WeightGradient::multiply(const Blocking& cut, int64_t task, const std::byte* x,
                              const std::byte* dy) const {
  const Cut tiles = part(cut.tiles, cut.blocks, task / cut.chunks);
  const Cut panels = part(cut.panels, cut.chunks, task % cut.chunks);
  if (kernel_.begin) kernel_.begin();
  for (int64_t slice = 0; slice < cut.slices; ++slice) {
    const Cut depth = {slice * cut.slice, std::min((slice + 1) * cut.slice, cut.depth)};
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      multiply_panel(cut, tiles, depth, panel, x, dy);
    }
  }
  if (kernel_.end) kernel_.end();
}

void WeightGradient::run(std::byte* workspace, ThreadPool& pool) const {
  std::byte* x = workspace;
  std::byte* dy = workspace + x_bytes();
  const int64_t x_chunks = ceil_div(args_.k, kPackColumns);
  const int64_t dy_chunks = ceil_div(args_.n, kPackColumns);
  for (int64_t block = 0; block < blocks_; ++block) {
    const Cut tokens = part(args_.m, blocks_, block);
    pool.run(x_chunks + dy_chunks, [&](int64_t task, int) {
      task < x_chunks ? transpose_x(tokens, task, x) : pack_dy(tokens, task - x_chunks, dy);
    });
    const PackedMatrix b = {args_.dtype, args_.isa, args_.n, tokens.size(), dy};
    const GemmArgs product = {.m = args_.k, .a = x, .a_dtype = a_dtype_, .lda = stride_, .b = &b};
    const Blocking cut(kernel_, product, threads_);
    pool.run(cut.blocks * cut.chunks, [&](int64_t task, int) { multiply(cut, task, x, dy); });
  }
}

}  // namespace

size_t gemm_weight_gradient_workspace_with(const GemmKernel& kernel, const WeightGradientArgs& args,
                                           int threads) {
  const WeightGradient gradient(kernel, args, threads);
  return gradient.x_bytes() + gradient.dy_bytes();
}

void gemm_weight_gradient_with(const GemmKernel& kernel, const WeightGradientArgs& args,
                               void* workspace, ThreadPool& pool) {
  WeightGradient(kernel, args, pool.size()).run(static_cast<std::byte*>(workspace), pool);
}

size_t gemm_weight_gradient_workspace(const WeightGradientArgs& args, int threads) {
  if (args.dtype == DType::f64) return 0;
  return gemm_weight_gradient_workspace_with(gemm_kernel(args.isa, args.dtype), args, threads);
}

void gemm_weight_gradient(const WeightGradientArgs& args, void* workspace, ThreadPool& pool) {
  if (args.dtype == DType::f64) return gemm_weight_gradient_f64(args, pool);
  gemm_weight_gradient_with(gemm_kernel(args.isa, args.dtype), args, workspace, pool);
}

}  // namespace hone::kernels

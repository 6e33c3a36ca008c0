// The recurrence of an LSTM. A block of sequences, as many as a tile of the matrix product has
// rows, runs through all its steps in one thread: its state and the weight stay in the caches next
// to the core.
#include "kernels/cpu/lstm.h"

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/lstm_cell.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/lstm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Loads and stores `count` lanes from a column on, all lanes where there are so many.
template <bool whole>
struct Columns {
  size_t count;
  template <typename T>
  HWY_INLINE VF32 Get(const T* p) const {
    if constexpr (whole) return LoadVector(p);
    return LoadPart(p, count);
  }
  template <typename T>
  HWY_INLINE void Put(VF32 value, T* p) const {
    if constexpr (whole) {
      StoreVector(value, p);
    } else {
      StorePart(value, p, count);
    }
  }
};

/// e^x for x cut to [-40, 40], behind which a gate is 0 or 1 to fp32. NaN gives NaN.
HWY_INLINE VF32 GateExp(VF32 x) {
  const hn::RebindToSigned<F32> di;
  const VF32 cut = hn::Max(hn::Set(kF32, -40.0f), hn::Min(hn::Set(kF32, 40.0f), x));
  VF32 power;
  const VF32 p = ExpParts(kF32, cut, 127.0f, power);
  return hn::Mul(p, hn::BitCast(kF32, hn::ShiftLeft<23>(hn::BitCast(di, power))));
}

/// Computes the sigmoid within 1e-7 (absolute).
HWY_INLINE VF32 GateSigmoid(VF32 x) {
  const VF32 one = hn::Set(kF32, 1.0f);
  return hn::Div(one, hn::Add(one, GateExp(hn::Neg(x))));
}

/// Computes tanh x within 1e-7 (absolute): near 0 its relative error is larger than Tanh()'s.
HWY_INLINE VF32 GateTanh(VF32 x) {
  const VF32 one = hn::Set(kF32, 1.0f);
  const VF32 e = GateExp(hn::Mul(x, hn::Set(kF32, -2.0f)));
  return hn::Div(hn::Sub(one, e), hn::Add(one, e));
}

template <bool whole, typename T>
HWY_INLINE void ForwardColumns(const CellForward<T>& row, int64_t hidden, int64_t j, size_t count) {
  const Columns<whole> at{count};
  VF32 z[4];
  for (int64_t q = 0; q < 4; ++q) {
    z[q] = at.Get(row.x + q * hidden + j);
    if (row.bias) z[q] = hn::Add(z[q], at.Get(row.bias + q * hidden + j));
    if (row.sums) z[q] = hn::Add(z[q], at.Get(row.sums + q * hidden + j));
  }
  const VF32 i = GateSigmoid(z[0]), f = GateSigmoid(z[1]);
  const VF32 g = GateTanh(z[2]), o = GateSigmoid(z[3]);
  VF32 c = hn::Mul(i, g);
  if (row.sums) c = hn::MulAdd(f, at.Get(row.c + j), c);
  at.Put(c, row.c + j);
  at.Put(hn::Mul(o, GateTanh(c)), row.h + j);
  if (!row.gates) return;
  at.Put(i, row.gates + j);
  at.Put(f, row.gates + hidden + j);
  at.Put(g, row.gates + 2 * hidden + j);
  at.Put(o, row.gates + 3 * hidden + j);
  at.Put(c, row.cells + j);
}

template <typename T>
void ForwardRow(const CellForward<T>& row, int64_t hidden) {
  int64_t j = 0;
  for (; j + static_cast<int64_t>(kLanes) <= hidden; j += kLanes) {
    ForwardColumns<true>(row, hidden, j, kLanes);
  }
  if (j < hidden) ForwardColumns<false>(row, hidden, j, static_cast<size_t>(hidden - j));
}

template <bool whole, typename T>
HWY_INLINE void BackwardColumns(const CellBackward<T>& row, int64_t hidden, int64_t j,
                                size_t count) {
  const Columns<whole> at{count};
  const VF32 one = hn::Set(kF32, 1.0f);
  const VF32 i = at.Get(row.gates + j), f = at.Get(row.gates + hidden + j);
  const VF32 g = at.Get(row.gates + 2 * hidden + j), o = at.Get(row.gates + 3 * hidden + j);
  const VF32 u = GateTanh(at.Get(row.c + j));
  const VF32 dh = hn::Add(at.Get(row.dh + j), at.Get(row.dh_next + j));
  const VF32 dc = hn::MulAdd(hn::Mul(dh, o), hn::NegMulAdd(u, u, one), at.Get(row.dc_next + j));
  const auto sigmoid_slope = [&](VF32 s) { return hn::NegMulAdd(s, s, s); };
  const VF32 before = row.c_before ? at.Get(row.c_before + j) : hn::Zero(kF32);
  at.Put(hn::Mul(hn::Mul(dc, g), sigmoid_slope(i)), row.dx + j);
  at.Put(hn::Mul(hn::Mul(dc, before), sigmoid_slope(f)), row.dx + hidden + j);
  at.Put(hn::Mul(hn::Mul(dc, i), hn::NegMulAdd(g, g, one)), row.dx + 2 * hidden + j);
  at.Put(hn::Mul(hn::Mul(dh, u), sigmoid_slope(o)), row.dx + 3 * hidden + j);
  at.Put(hn::Mul(dc, f), row.dc_next + j);
}

template <typename T>
void BackwardRow(const CellBackward<T>& row, int64_t hidden) {
  int64_t j = 0;
  for (; j + static_cast<int64_t>(kLanes) <= hidden; j += kLanes) {
    BackwardColumns<true>(row, hidden, j, kLanes);
  }
  if (j < hidden) BackwardColumns<false>(row, hidden, j, static_cast<size_t>(hidden - j));
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>
#include <span>

#include "kernels/cpu/gemm_backward_pack.h"
#include "kernels/cpu/gemm_blocking.h"
#include "kernels/cpu/lstm_f64.h"

namespace hone::kernels {
namespace {

size_t padded(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

/// W^T as a weight: what the backward pass multiplies by.
PackedMatrix transposed_of(const PackedMatrix& w, const void* data) {
  return {w.dtype, w.isa, w.k, w.n, data};
}

/// The product of a tile's rows with one weight: rows go in one by one, and sums come out dense.
class TileProduct {
 public:
  static size_t bytes(const PackedMatrix& w) {
    const GemmKernel& kernel = gemm_kernel(w.isa, w.dtype);
    const auto rows = static_cast<size_t>(kernel.tile_rows);
    return padded(rows * stride(w) * kernel.a_size) +
           padded(rows * static_cast<size_t>(panel_rows(w.isa)) * sizeof(float)) +
           padded(rows * static_cast<size_t>(w.n) * sizeof(float));
  }

  TileProduct(const PackedMatrix& w, std::byte* memory)
      : w_(w), kernel_(gemm_kernel(w.isa, w.dtype)), width_(panel_rows(w.isa)), rows_(memory) {
    const auto rows = static_cast<size_t>(kernel_.tile_rows);
    const size_t a_bytes = padded(rows * stride(w) * kernel_.a_size);
    std::memset(rows_, 0, a_bytes);
    tile_ = reinterpret_cast<float*>(memory + a_bytes);
    out_ = tile_ + padded(rows * static_cast<size_t>(width_) * sizeof(float)) / sizeof(float);
    if (kernel_.begin) kernel_.begin();
  }
  ~TileProduct() {
    if (kernel_.end) kernel_.end();
  }
  TileProduct(const TileProduct&) = delete;
  TileProduct& operator=(const TileProduct&) = delete;

  void set_row(int64_t row, const void* from) {
    kernel_.copy_row(from, w_.k, rows_ + static_cast<size_t>(row) * stride(w_) * kernel_.a_size);
  }
  float* out(int64_t row) const { return out_ + row * w_.n; }

  void multiply(int64_t rows) {
    const int64_t panels = ceil_div(w_.n, width_);
    const int64_t depth = packed_depth(w_.dtype, w_.k);
    const size_t stride_bytes = panel_bytes(w_.isa, w_.dtype, w_.k);
    const auto lda = static_cast<int64_t>(stride(w_));
    for (int64_t panel = 0; panel < panels; ++panel) {
      const auto* b = static_cast<const char*>(w_.data) + static_cast<size_t>(panel) * stride_bytes;
      kernel_.multiply(rows, rows_, lda, b, depth, false, tile_, {b, 0});
      const int64_t columns = std::min(width_, w_.n - panel * width_);
      for (int64_t row = 0; row < rows; ++row) {
        std::memcpy(out(row) + panel * width_, tile_ + row * width_,
                    static_cast<size_t>(columns) * sizeof(float));
      }
    }
  }

 private:
  /// Gives the elements between rows; one line more than a row, so that rows do not share sets.
  static size_t stride(const PackedMatrix& w) {
    const GemmKernel& kernel = gemm_kernel(w.isa, w.dtype);
    const auto line = static_cast<int64_t>(kCacheLine / kernel.a_size);
    return static_cast<size_t>(round_up(packed_depth(w.dtype, w.k), line) + line);
  }

  PackedMatrix w_;
  const GemmKernel& kernel_;
  int64_t width_;
  std::byte* rows_;
  float* tile_;
  float* out_;
};

struct Sequence {
  int32_t first;
  int32_t length;
};

/// Sequences, the longest first, cut into blocks of at most a tile's rows.
class Blocks {
 public:
  Blocks(const LstmShape& shape, void* memory)
      : sequences_(static_cast<Sequence*>(memory)),
        count_(shape.sequences),
        blocks_(ceil_div(shape.sequences,
                         gemm_kernel(shape.weight.isa, shape.weight.dtype).tile_rows)) {
    for (int64_t i = 0; i < count_; ++i) {
      sequences_[i] = {shape.offsets[i], shape.offsets[i + 1] - shape.offsets[i]};
    }
    std::sort(sequences_, sequences_ + count_, [](const Sequence& a, const Sequence& b) {
      return a.length != b.length ? a.length > b.length : a.first < b.first;
    });
  }
  static size_t bytes(int64_t sequences) {
    return padded(static_cast<size_t>(sequences) * sizeof(Sequence));
  }
  int64_t count() const { return blocks_; }
  std::span<const Sequence> block(int64_t index) const {
    const Cut cut = part(count_, blocks_, index);
    return {sequences_ + cut.begin, static_cast<size_t>(cut.size())};
  }

 private:
  Sequence* sequences_;
  int64_t count_;
  int64_t blocks_;
};

/// Says how many of the sequences have a row at a step; they are the first.
size_t running(std::span<const Sequence> sequences, int64_t step) {
  size_t count = sequences.size();
  while (count > 0 && sequences[count - 1].length <= step) --count;
  return count;
}

size_t state_bytes(const LstmShape& shape) {
  const int64_t rows = gemm_kernel(shape.weight.isa, shape.weight.dtype).tile_rows;
  return padded(static_cast<size_t>(rows * shape.hidden) * sizeof(float));
}

size_t worker_bytes(const LstmShape& shape) {
  return std::max(TileProduct::bytes(shape.weight),
                  TileProduct::bytes(transposed_of(shape.weight, nullptr))) +
         2 * state_bytes(shape);
}

template <typename T>
void forward_block(const LstmShape& shape, const LstmForward<T>& args,
                   std::span<const Sequence> sequences, std::byte* memory) {
  const int64_t hidden = shape.hidden;
  auto* states = reinterpret_cast<float*>(memory);
  TileProduct product(shape.weight, memory + state_bytes(shape));
  const auto run_row = HONE_TARGET_FUNCTION(ForwardRow<T>);
  for (int64_t t = 0; t < sequences.front().length; ++t) {
    const auto rows = static_cast<int64_t>(running(sequences, t));
    if (t > 0) product.multiply(rows);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = sequences[static_cast<size_t>(row)].first + t;
      T* h = args.h + at * hidden;
      run_row({args.x + at * 4 * hidden, args.bias, t > 0 ? product.out(row) : nullptr,
               states + row * hidden, h, args.gates ? args.gates + at * 4 * hidden : nullptr,
               args.gates ? args.cells + at * hidden : nullptr},
              hidden);
      product.set_row(row, h);
    }
  }
}

template <typename T>
void backward_block(const LstmShape& shape, const LstmBackward<T>& args,
                    const PackedMatrix& transposed, std::span<const Sequence> sequences,
                    std::byte* memory) {
  const int64_t hidden = shape.hidden;
  auto* dh = reinterpret_cast<float*>(memory);
  auto* dc = reinterpret_cast<float*>(memory + state_bytes(shape));
  std::memset(memory, 0, 2 * state_bytes(shape));
  TileProduct product(transposed, memory + 2 * state_bytes(shape));
  const auto run_row = HONE_TARGET_FUNCTION(BackwardRow<T>);
  for (int64_t t = sequences.front().length; t-- > 0;) {
    const auto rows = static_cast<int64_t>(running(sequences, t));
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = sequences[static_cast<size_t>(row)].first + t;
      T* dx = args.dx + at * 4 * hidden;
      run_row({args.dh + at * hidden, args.gates + at * 4 * hidden, args.cells + at * hidden,
               t > 0 ? args.cells + (at - 1) * hidden : nullptr, dh + row * hidden,
               dc + row * hidden, dx},
              hidden);
      T* before = args.before + at * hidden;
      if (t == 0) {
        std::memset(static_cast<void*>(before), 0, static_cast<size_t>(hidden) * sizeof(T));
      } else {
        std::memcpy(static_cast<void*>(before), args.h + (at - 1) * hidden,
                    static_cast<size_t>(hidden) * sizeof(T));
        product.set_row(row, dx);
      }
    }
    if (t == 0) break;
    product.multiply(rows);
    std::memcpy(dh, product.out(0), static_cast<size_t>(rows * hidden) * sizeof(float));
  }
}

}  // namespace

size_t lstm_workspace(const LstmShape& shape, int threads) {
  if (shape.weight.dtype == DType::f64) return lstm_workspace_f64(shape);
  const PackedMatrix& w = shape.weight;
  return Blocks::bytes(shape.sequences) + padded(packed_bytes(w.isa, w.dtype, w.k, w.n)) +
         static_cast<size_t>(threads) * worker_bytes(shape);
}

template <typename T>
void lstm_forward(const LstmShape& shape, const LstmForward<T>& args, void* workspace,
                  ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    return lstm_forward_f64(shape, args, workspace);
  } else {
    const Blocks blocks(shape, workspace);
    auto* memory = static_cast<std::byte*>(workspace) + Blocks::bytes(shape.sequences);
    pool.run(blocks.count(), [&](int64_t block, int worker) {
      forward_block(shape, args, blocks.block(block),
                    memory + static_cast<size_t>(worker) * worker_bytes(shape));
    });
  }
}

template <typename T>
void lstm_backward(const LstmShape& shape, const LstmBackward<T>& args, void* workspace,
                   ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    return lstm_backward_f64(shape, args, workspace);
  } else {
    const PackedMatrix& w = shape.weight;
    const Blocks blocks(shape, workspace);
    auto* memory = static_cast<std::byte*>(workspace) + Blocks::bytes(shape.sequences);
    const PackedMatrix transposed = transposed_of(w, memory);
    const int64_t width = panel_rows(w.isa);
    for (int64_t panel = 0; panel < ceil_div(w.k, width); ++panel) {
      transpose_panel(w, panel,
                      memory + static_cast<size_t>(panel) * panel_bytes(w.isa, w.dtype, w.n));
    }
    memory += padded(packed_bytes(w.isa, w.dtype, w.k, w.n));
    pool.run(blocks.count(), [&](int64_t block, int worker) {
      backward_block(shape, args, transposed, blocks.block(block),
                     memory + static_cast<size_t>(worker) * worker_bytes(shape));
    });
  }
}

template void lstm_forward<float>(const LstmShape&, const LstmForward<float>&, void*, ThreadPool&);
template void lstm_forward<bf16>(const LstmShape&, const LstmForward<bf16>&, void*, ThreadPool&);
template void lstm_forward<double>(const LstmShape&, const LstmForward<double>&, void*,
                                   ThreadPool&);
template void lstm_backward<float>(const LstmShape&, const LstmBackward<float>&, void*,
                                   ThreadPool&);
template void lstm_backward<bf16>(const LstmShape&, const LstmBackward<bf16>&, void*, ThreadPool&);
template void lstm_backward<double>(const LstmShape&, const LstmBackward<double>&, void*,
                                    ThreadPool&);

}  // namespace hone::kernels
#endif

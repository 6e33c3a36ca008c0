// What transformers need beside products: embeddings, norms, attention, dropout. Relative positions
// and fp8 are missing.

#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "emulated/numbers.h"
#include "emulated/queue.h"
#include "kernels/cpu/attention_backward.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cuda/api.h"

namespace hone::kernels::cuda {

using emulated::load;
using emulated::store;
using emulated::submit;

namespace {

kernels::Dropout on_host(const Dropout& d) {
  if (d.p <= 0) return {};
  return {d.p, dropout_key(d.random->seed, d.random->step, d.site), d.samples, d.positions};
}

double factor_at(const kernels::Dropout& d, int64_t row, int64_t column) {
  return d.p <= 0 ? 1 : double{dropout_factor(d, row, static_cast<uint32_t>(column))};
}

/// Normalises a row of sums and writes all that is wanted.
void normalize(const NormForward& n, int64_t row, const std::vector<double>& sums) {
  const auto width = static_cast<double>(n.width);
  double mean = 0, variance = 0;
  for (const double value : sums) mean += value / width;
  for (const double value : sums) variance += (value - mean) * (value - mean) / width;
  const double rstd = 1 / std::sqrt(variance + double{n.eps});
  const kernels::Dropout drop = on_host(n.output_dropout);
  if (n.rstd) n.rstd[row] = static_cast<float>(rstd);
  for (int64_t c = 0; c < n.width; ++c) {
    const double xhat = (sums[static_cast<size_t>(c)] - mean) * rstd;
    if (n.xhat) store(n.dtype, n.xhat, row * n.width + c, xhat);
    store(n.dtype, n.y, row * n.width + c,
          factor_at(drop, row, c) * (xhat * n.weight[c] + n.affine_bias[c]));
  }
}

}  // namespace

Status layer_norm(const NormForward& args, Stream stream) {
  if (args.bytes) return "the emulation has no fp8";
  return submit(stream, [n = args] {
    const kernels::Dropout drop = on_host(n.dropout);
    std::vector<double> sums(static_cast<size_t>(n.width));
    for (int64_t row = 0; row < n.rows; ++row) {
      for (int64_t c = 0; c < n.width; ++c) {
        const int64_t at = row * n.width + c;
        const double x = load(n.dtype, n.x, at) + (n.bias ? double{n.bias[c]} : 0);
        sums[static_cast<size_t>(c)] =
            factor_at(drop, row, c) * x + (n.residual ? load(n.dtype, n.residual, at) : 0);
      }
      normalize(n, row, sums);
    }
  });
}

Status embed_and_normalize(const EmbeddingForward& e, const NormForward& norm, Stream stream) {
  if (norm.bytes) return "the emulation has no fp8";
  return submit(stream, [e, n = norm] {
    std::vector<double> sums(static_cast<size_t>(n.width));
    for (int64_t row = 0; row < n.rows; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      const auto add = [&](const void* table, const int32_t* ids) {
        const int64_t id = ids ? ids[row] : 0;
        for (int64_t c = 0; table && c < n.width; ++c) {
          sums[static_cast<size_t>(c)] += load(e.table_dtype, table, id * n.width + c);
        }
      };
      add(e.word, e.word_ids);
      add(e.type, e.type_ids);
      add(e.position, e.position_ids);
      normalize(n, row, sums);
    }
  });
}

Status layer_norm_backward(const NormBackward& args, void* workspace, Stream stream,
                           RowSums* sums) {
  auto* const parts = static_cast<float*>(workspace);
  if (sums) {
    *sums = {};
    if (args.dweight || args.daffine_bias || args.dbias) {
      *sums = {parts,
               1,
               3,
               static_cast<int32_t>(args.width),
               {args.dweight, args.daffine_bias, args.dbias}};
    }
  }
  return submit(stream, [n = args, parts] {
    const auto width = static_cast<size_t>(n.width);
    const kernels::Dropout out_drop = on_host(n.output_dropout), drop = on_host(n.dropout);
    std::vector<double> columns(3 * width), slopes(width), xhat(width);
    for (int64_t row = 0; row < n.rows; ++row) {
      double mean = 0, along = 0;  // sums the gradient of xhat, and its product with xhat
      for (size_t c = 0; c < width; ++c) {
        const auto column = static_cast<int64_t>(c);
        const int64_t at = row * n.width + column;
        const double dy = factor_at(out_drop, row, column) * load(n.dtype, n.dy, at);
        xhat[c] = load(n.dtype, n.xhat, at);
        columns[c] += dy * xhat[c];
        columns[width + c] += dy;
        slopes[c] = dy * n.weight[c];
        mean += slopes[c] / static_cast<double>(width);
        along += slopes[c] * xhat[c] / static_cast<double>(width);
      }
      for (size_t c = 0; c < width; ++c) {
        const auto column = static_cast<int64_t>(c);
        const int64_t at = row * n.width + column;
        const double ds = n.rstd[row] * (slopes[c] - mean - xhat[c] * along);
        const double dx = factor_at(drop, row, column) * ds;
        columns[2 * width + c] += dx;
        store(n.dtype, n.dsum, at, ds);
        if (n.dx) store(n.dtype, n.dx, at, dx);
        if (n.y) store(n.dtype, n.y, at, xhat[c] * n.weight[c] + n.affine_bias[c]);
      }
    }
    for (size_t i = 0; parts && i < columns.size(); ++i) parts[i] = static_cast<float>(columns[i]);
  });
}

size_t embedding_backward_workspace(int64_t, int64_t) { return 0; }
Status embedding_backward(const EmbeddingBackward& args, void*, Stream stream) {
  return submit(stream, [a = args] {
    for (const EmbeddingGradient& table : a.tables) {
      for (int64_t t = 0; table.dtable && t < a.tokens; ++t) {
        const int64_t id = table.ids ? table.ids[t] : 0;
        float* const row = table.dtable + id * a.width;
        if (table.touched && !table.touched[id]) {
          std::fill_n(row, a.width, 0.0f);
          table.touched[id] = 1;
        }
        for (int64_t c = 0; c < a.width; ++c) row[c] += load(a.dtype, a.dsum, t * a.width + c);
      }
    }
  });
}

Status apply_dropout(const Dropout& dropout, DType dtype, const void* x, int64_t rows,
                     int64_t width, void* y, Stream stream) {
  return submit(stream, [=] {
    const kernels::Dropout drop = on_host(dropout);
    for (int64_t i = 0; i < rows * width; ++i) {
      store(dtype, y, i, factor_at(drop, i / width, i % width) * load(dtype, x, i));
    }
  });
}

Status gather_rows(DType dtype, const void* x, int64_t stride, const int32_t* index, int64_t count,
                   int64_t width, void* out, Stream stream) {
  return submit(stream, [=] {
    for (int64_t i = 0; i < count * width; ++i) {
      const int64_t from = index[i / width];
      store(dtype, out, i, from < 0 ? 0 : load(dtype, x, from * stride + i % width));
    }
  });
}
Status scatter_rows(DType dtype, const void* dy, const int32_t* index, int64_t count, int64_t rows,
                    int64_t width, bool set, void* dx, Stream stream) {
  return submit(stream, [=] {
    for (int64_t i = 0; set && i < rows * width; ++i) store(dtype, dx, i, 0);
    for (int64_t i = 0; i < count * width; ++i) {
      if (index[i / width] < 0) continue;
      const int64_t to = index[i / width] * width + i % width;
      store(dtype, dx, to, load(dtype, dx, to) + load(dtype, dy, i));
    }
  });
}

namespace {

/// Heads' rows in double, dense, and the shape that the processor's attention takes.
struct Heads {
  Heads(const AttentionShape& s) : own(s), width(s.heads * s.head_size) {}

  kernels::AttentionShape shape() const {
    return {own.q_offsets, own.k_offsets, own.sequences, own.heads, own.head_size, own.scale};
  }
  std::vector<double> rows_of(const void* data, int64_t stride, int64_t rows) const {
    std::vector<double> out(static_cast<size_t>(rows * width));
    for (int64_t i = 0; i < rows * width; ++i) {
      out[static_cast<size_t>(i)] = load(own.dtype, data, i / width * stride + i % width);
    }
    return out;
  }
  kernels::HeadRows<double> heads_of(const std::vector<double>& rows) const {
    return {rows.data(), width};
  }
  void put(const std::vector<double>& rows, void* data, int64_t stride) const {
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      store(own.dtype, data, at / width * stride + at % width, rows[i]);
    }
  }

  AttentionShape own;
  int64_t width;
};

}  // namespace

size_t attention_kept_words(const AttentionShape&) { return 0; }
size_t attention_backward_workspace(const AttentionShape&) { return 0; }

Status attention(const AttentionShape& shape, const AttentionForward& arrays, AttentionKernel,
                 Stream stream) {
  if (arrays.relative.distances) return "the emulation has no relative positions";
  return submit(stream, [heads = Heads(shape), a = arrays] {
    ThreadPool pool(1);
    const AttentionShape& s = heads.own;
    const auto q = heads.rows_of(a.q.data, a.q.stride, s.q_rows);
    const auto k = heads.rows_of(a.k.data, a.k.stride, s.k_rows);
    const auto v = heads.rows_of(a.v.data, a.v.stride, s.k_rows);
    std::vector<double> out(q.size()), sums(static_cast<size_t>(s.q_rows * s.heads));
    kernels::attention(heads.shape(), heads.heads_of(q), heads.heads_of(k), heads.heads_of(v), {},
                       out.data(), sums.data(), pool, on_host(a.dropout));
    heads.put(out, a.out, heads.width);
    for (size_t i = 0; a.log_sums && i < sums.size(); ++i) {
      a.log_sums[i] = static_cast<float>(sums[i]);
    }
  });
}

Status attention_backward(const AttentionShape& shape, const AttentionBackward& arrays, void*,
                          AttentionKernel, Stream stream) {
  if (arrays.relative.distances) return "the emulation has no relative positions";
  return submit(stream, [heads = Heads(shape), a = arrays] {
    ThreadPool pool(1);
    const AttentionShape& s = heads.own;
    const auto q = heads.rows_of(a.q.data, a.q.stride, s.q_rows);
    const auto k = heads.rows_of(a.k.data, a.k.stride, s.k_rows);
    const auto v = heads.rows_of(a.v.data, a.v.stride, s.k_rows);
    const auto out = heads.rows_of(a.out, heads.width, s.q_rows);
    const auto dout = heads.rows_of(a.dout, heads.width, s.q_rows);
    const std::vector<double> sums(a.log_sums, a.log_sums + s.q_rows * s.heads);
    std::vector<double> dq(q.size()), dk(k.size()), dv(v.size());
    const kernels::AttentionBackward<double> args{.q = heads.heads_of(q),
                                                  .k = heads.heads_of(k),
                                                  .v = heads.heads_of(v),
                                                  .out = out.data(),
                                                  .dout = dout.data(),
                                                  .log_sums = sums.data(),
                                                  .dropout = on_host(a.dropout),
                                                  .dq = {dq.data(), heads.width},
                                                  .dk = {dk.data(), heads.width},
                                                  .dv = {dv.data(), heads.width}};
    kernels::attention_backward(heads.shape(), args, nullptr, pool);
    heads.put(dq, a.dq.data, a.dq.stride);
    heads.put(dk, a.dk.data, a.dk.stride);
    heads.put(dv, a.dv.data, a.dv.stride);
  });
}

}  // namespace hone::kernels::cuda

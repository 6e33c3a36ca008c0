#include "explain/top_k.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/cpu/inner_products.h"
#include "kernels/cpu/quantize.h"

namespace hone::explain {
namespace {

// Queries that go through the rows together, and rows whose scores are kept until they are looked
// at.
constexpr int64_t kQueryBlock = 32;
constexpr int64_t kRowBlock = 64;

bool ranks_before(const Neighbour& a, const Neighbour& b) {
  return a.score > b.score || (a.score == b.score && a.index < b.index);
}

double norm_of(const float* values, int64_t width) {
  double squares = 0;
  for (int64_t i = 0; i < width; ++i) squares += double{values[i]} * double{values[i]};
  return std::sqrt(squares);
}

/// Bounds stay bounds when they are rounded and computed with in fp32.
float rounded_up(double bound) { return static_cast<float>(bound * 1.00001) + 1e-37f; }

}  // namespace

/// The best of a query so far. Rows come in ascending order, so that one with an equal score ranks
/// behind those that are here.
class TopK::Best {
 public:
  Best(int64_t k, std::span<const int32_t> excluded)
      : k_(static_cast<size_t>(k)), excluded_(excluded) {}
  /// Writes which of scores that come next may enter, and returns their number.
  int64_t candidates(const float* scores, int64_t count, int32_t* out) const {
    if (is_full()) return kernels::indices_above(scores, count, entries_.front().score, out);
    std::iota(out, out + count, 0);
    return count;
  }
  bool wants(float score) const {
    return is_full() ? score > entries_.front().score : !std::isnan(score);
  }
  void offer(int32_t index, float score) {
    if (!wants(score) || std::binary_search(excluded_.begin(), excluded_.end(), index)) return;
    if (is_full()) {
      std::pop_heap(entries_.begin(), entries_.end(), ranks_before);
      entries_.pop_back();
    }
    entries_.push_back({index, score});
    std::push_heap(entries_.begin(), entries_.end(), ranks_before);
  }
  const std::vector<Neighbour>& entries() const { return entries_; }

 private:
  bool is_full() const { return entries_.size() == k_; }

  size_t k_;
  std::span<const int32_t> excluded_;
  std::vector<Neighbour> entries_;  ///< a heap whose front ranks last
};

/// A block of queries, padded to the rows' stride, and what each is in bytes.
struct TopK::Queries {
  struct Bytes {
    float scale = 0;
    int32_t offset = 0;  ///< takes off the 128 in every byte of a row
    float norm = 0;
    float error = 0;
    bool usable = false;
  };
  int64_t count = 0;
  int64_t stride = 0;
  Buffer values;
  Buffer bytes;
  int64_t byte_stride = 0;
  std::vector<Bytes> forms;

  const float* row(int64_t q) const { return values.as<float>() + q * stride; }
  const int8_t* byte_row(int64_t q) const { return bytes.as<int8_t>() + q * byte_stride; }

  Queries(const float* from, int64_t query_count, const ConceptRows& rows, bool with_bytes)
      : count(query_count), stride(row_stride(rows.dtype, rows.width)) {
    values = Buffer(static_cast<size_t>(count * stride) * sizeof(float));
    std::memset(values.data(), 0, values.size());
    for (int64_t q = 0; q < count; ++q) {
      std::copy_n(from + q * rows.width, rows.width, values.as<float>() + q * stride);
    }
    if (!with_bytes) return;
    byte_stride = row_stride(DType::u8, rows.width);
    bytes = Buffer(static_cast<size_t>(count * byte_stride));
    std::memset(bytes.data(), 0, bytes.size());
    for (int64_t q = 0; q < count; ++q) forms.push_back(quantize(q, rows.width));
  }

  Bytes quantize(int64_t q, int64_t width) {
    const float* x = row(q);
    int8_t* to = bytes.as<int8_t>() + q * byte_stride;
    Bytes form;
    const double norm = norm_of(x, width);
    form.usable = norm > 1e-25 && norm < 1e15;  // elsewhere fp32 could not hold the bounds
    if (!form.usable) return form;
    form.scale = kernels::quantize_symmetric(x, width, to);
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) {
      const double error = double{x[i]} - double{form.scale} * static_cast<double>(to[i]);
      squares += error * error;
      form.offset -= 128 * to[i];
    }
    form.norm = rounded_up(norm);
    form.error = rounded_up(std::sqrt(squares));
    return form;
  }
};

TopK::TopK(const ConceptRows& rows, Scan scan, ThreadPool& pool) : rows_(rows), scan_(scan) {
  if (scan_ == Scan::bytes) make_bytes(pool);
}

/// A row v is s q + e, a query x is t p + f, so that <v, x> = s t <q, p> + <s q, f> + <e, x>; the
/// last two are at most |s q| |f| and |e| |x|. An fp32 sum of n products is off by at most about
/// n 2^-24 |v| |x|, and so is what is computed of the bytes' sum. A bias has its own rounding.
void TopK::make_bytes(ThreadPool& pool) {
  const int64_t width = rows_.width, stride = row_stride(DType::u8, width);
  const auto count = static_cast<size_t>(rows_.count);
  const bool own = rows_.dtype != DType::u8;
  if (own) {
    own_bytes_ = Buffer(count * static_cast<size_t>(stride));
    own_scales_.resize(count);
  }
  errors_.resize(count);
  norms_.resize(count);
  if (rows_.biases) highest_biases_.resize(count);
  const double rounding = static_cast<double>(width + 16) * 0x1p-23;
  constexpr int64_t kRows = 256;
  pool.run((rows_.count + kRows - 1) / kRows, [&](int64_t task, int) {
    std::vector<float> row(static_cast<size_t>(width));
    std::vector<int8_t> quantized(static_cast<size_t>(width));
    const int64_t end = std::min(rows_.count, (task + 1) * kRows);
    for (int64_t r = task * kRows; r < end; ++r) {
      const auto at = static_cast<size_t>(r);
      read_row(rows_, r, row.data());
      double error = 0, length = norm_of(row.data(), width);
      const double row_norm = length;
      if (own) {
        const float scale = kernels::quantize_symmetric(row.data(), width, quantized.data());
        uint8_t* to = own_bytes_.as<uint8_t>() + r * stride;
        std::memset(to, 128, static_cast<size_t>(stride));
        double squares = 0, lengths = 0;
        for (int64_t i = 0; i < width; ++i) {
          const auto q = quantized[static_cast<size_t>(i)];
          to[i] = static_cast<uint8_t>(q + 128);
          const double value = double{scale} * static_cast<double>(q);
          const double off = double{row[static_cast<size_t>(i)]} - value;
          squares += off * off;
          lengths += value * value;
        }
        own_scales_[at] = scale;
        error = std::sqrt(squares);
        length = std::sqrt(lengths);
      }
      errors_[at] = rounded_up(error + rounding * std::max(row_norm, length));
      norms_[at] = rounded_up(length);
      if (rows_.biases) {
        const double bias = double{rows_.biases[r]};
        highest_biases_[at] = static_cast<float>(bias + std::abs(bias) * 0x1p-20) + 1e-37f;
      }
    }
  });
  bytes_ = own ? own_bytes_.as<uint8_t>() : static_cast<const uint8_t*>(rows_.data);
  scales_ = own ? own_scales_.data() : rows_.scales;
}

/// Writes scores of rows [first, first + rows) for `count` padded queries.
void TopK::score(const float* queries, int64_t count, int64_t first, int64_t rows, float* out,
                 int64_t ldo) const {
  const int64_t stride = row_stride(rows_.dtype, rows_.width);
  const auto products = [&](auto* data) {
    kernels::inner_products(queries, count, data + first * stride, rows, stride, out, ldo);
  };
  if (rows_.dtype == DType::f32) {
    products(static_cast<const float*>(rows_.data));
  } else if (rows_.dtype == DType::bf16) {
    products(static_cast<const bf16*>(rows_.data));
  } else {
    products(static_cast<const uint8_t*>(rows_.data));
    for (int64_t q = 0; q < count; ++q) {
      for (int64_t r = 0; r < rows; ++r) out[q * ldo + r] *= rows_.scales[first + r];
    }
  }
  if (!rows_.biases) return;
  for (int64_t q = 0; q < count; ++q) {
    for (int64_t r = 0; r < rows; ++r) out[q * ldo + r] += rows_.biases[first + r];
  }
}

void TopK::scan_exact(const float* queries, int64_t count, int64_t begin, int64_t end,
                      Best* best) const {
  alignas(64) float scores[kQueryBlock * kRowBlock];
  int32_t candidates[kRowBlock];
  for (int64_t first = begin; first < end; first += kRowBlock) {
    const int64_t rows = std::min(kRowBlock, end - first);
    score(queries, count, first, rows, scores, kRowBlock);
    for (int64_t q = 0; q < count; ++q) {
      const float* row = scores + q * kRowBlock;
      const int64_t found = best[q].candidates(row, rows, candidates);
      for (int64_t i = 0; i < found; ++i) {
        best[q].offer(static_cast<int32_t>(first + candidates[i]), row[candidates[i]]);
      }
    }
  }
}

void TopK::scan_bytes(const Queries& queries, int64_t begin, int64_t end, Best* best) const {
  const int64_t stride = row_stride(DType::u8, rows_.width);
  alignas(64) int32_t dots[kRowBlock];
  alignas(64) float highest[kRowBlock];
  int32_t candidates[kRowBlock];
  for (int64_t first = begin; first < end; first += kRowBlock) {
    const int64_t rows = std::min(kRowBlock, end - first);
    for (int64_t q = 0; q < queries.count; ++q) {
      const Queries::Bytes& form = queries.forms[static_cast<size_t>(q)];
      if (!form.usable) {
        scan_exact(queries.row(q), 1, first, first + rows, best + q);
        continue;
      }
      kernels::byte_products(queries.byte_row(q), bytes_ + first * stride, rows, stride, dots);
      const float* biases = rows_.biases ? highest_biases_.data() + first : nullptr;
      kernels::highest_scores(dots,
                              {scales_ + first, errors_.data() + first, norms_.data() + first,
                               biases, form.offset, form.scale, form.norm, form.error},
                              rows, highest);
      const int64_t found = best[q].candidates(highest, rows, candidates);
      for (int64_t i = 0; i < found; ++i) {
        if (!best[q].wants(highest[candidates[i]])) continue;
        const int64_t row = first + candidates[i];
        float exact = 0;
        score(queries.row(q), 1, row, 1, &exact, 1);
        best[q].offer(static_cast<int32_t>(row), exact);
      }
    }
  }
}

void TopK::search_block(const float* from, int64_t count, int64_t k,
                        std::span<const std::span<const int32_t>> excluded, ThreadPool& pool,
                        Neighbour* out) const {
  const Queries queries(from, count, rows_, scan_ == Scan::bytes);
  // A thread takes a stretch of rows; few rows are not worth a second one.
  constexpr int64_t kLeastRows = 2048;
  const int64_t parts =
      std::clamp<int64_t>(rows_.count / kLeastRows, 1, static_cast<int64_t>(pool.size()));
  std::vector<Best> best;
  for (int64_t i = 0; i < parts * count; ++i) {
    const auto q = static_cast<size_t>(i % count);
    best.emplace_back(k, excluded.empty() ? std::span<const int32_t>() : excluded[q]);
  }
  pool.run(parts, [&](int64_t part, int) {
    const int64_t begin = rows_.count * part / parts, end = rows_.count * (part + 1) / parts;
    Best* own = best.data() + part * count;
    if (scan_ == Scan::bytes) {
      scan_bytes(queries, begin, end, own);
    } else {
      scan_exact(queries.row(0), count, begin, end, own);
    }
  });
  std::vector<Neighbour> merged;
  for (int64_t q = 0; q < count; ++q) {
    merged.clear();
    for (int64_t part = 0; part < parts; ++part) {
      const auto& entries = best[static_cast<size_t>(part * count + q)].entries();
      merged.insert(merged.end(), entries.begin(), entries.end());
    }
    std::sort(merged.begin(), merged.end(), ranks_before);
    merged.resize(static_cast<size_t>(k));
    std::copy(merged.begin(), merged.end(), out + q * k);
  }
}

void TopK::search(const float* queries, int64_t count, int64_t k,
                  std::span<const std::span<const int32_t>> excluded, ThreadPool& pool,
                  std::vector<Neighbour>& out) const {
  out.assign(static_cast<size_t>(count * k), {});
  if (k == 0) return;
  for (int64_t q = 0; q < count; q += kQueryBlock) {
    const int64_t block = std::min(kQueryBlock, count - q);
    const auto own = excluded.empty()
                         ? excluded
                         : excluded.subspan(static_cast<size_t>(q), static_cast<size_t>(block));
    search_block(queries + q * rows_.width, block, k, own, pool, out.data() + q * k);
  }
}

}  // namespace hone::explain

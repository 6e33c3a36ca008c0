#include "kernels/cpu/embedding_backward.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embedding_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// out [width] += the sum of `count` rows of x that `order` lists (null: the first ones).
template <typename T>
void AddRowsTo(const T* x, int64_t stride, const int32_t* order, int64_t count, int64_t width,
               float* out) {
  const int64_t lanes = kLanes;
  const auto row = [&](int64_t t) { return x + (order ? order[t] : t) * stride; };
  int64_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    VF32 sums[4] = {hn::Zero(kF32), hn::Zero(kF32), hn::Zero(kF32), hn::Zero(kF32)};
    for (int64_t t = 0; t < count; ++t) {
      const T* from = row(t) + i;
      for (int v = 0; v < 4; ++v) sums[v] = hn::Add(sums[v], LoadVector(from + v * lanes));
    }
    for (int v = 0; v < 4; ++v) {
      float* to = out + i + v * lanes;
      StoreVector(hn::Add(LoadVector(to), sums[v]), to);
    }
  }
  for (; i < width; i += lanes) {
    const size_t rest = std::min<int64_t>(lanes, width - i);
    VF32 sum = hn::Zero(kF32);
    for (int64_t t = 0; t < count; ++t) {
      sum = hn::Add(sum, rest == kLanes ? LoadVector(row(t) + i) : LoadPart(row(t) + i, rest));
    }
    if (rest == kLanes) {
      StoreVector(hn::Add(LoadVector(out + i), sum), out + i);
    } else {
      StorePart(hn::Add(LoadPart(out + i, rest), sum), out + i, rest);
    }
  }
}

template <typename T>
void AddTo(const T* x, int64_t count, T* y) {
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    StoreVector(hn::Add(LoadVector(x + i), LoadVector(y + i)), y + i);
  }
  if (i < count) {
    const size_t rest = count - i;
    StorePart(hn::Add(LoadPart(x + i, rest), LoadPart(y + i, rest)), y + i, rest);
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

/// 0..count-1 ordered by ids[i], then by i: a radix sort between two arrays of `count`. Returns the
/// one that holds the result.
const int32_t* sort_by_id(const int32_t* ids, int64_t count, int32_t* from, int32_t* to) {
  constexpr int kBits = 11;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  uint32_t all = 0;
  for (int64_t i = 0; i < count; ++i) {
    from[i] = static_cast<int32_t>(i);
    all |= static_cast<uint32_t>(ids[i]);
  }
  for (int shift = 0; shift < 32 && (all >> shift) != 0; shift += kBits) {
    std::array<int32_t, kMask + 1> place = {};
    const auto digit = [&](int64_t i) { return static_cast<uint32_t>(ids[i]) >> shift & kMask; };
    for (int64_t i = 0; i < count; ++i) ++place[digit(i)];
    int32_t sum = 0;
    for (int32_t& p : place) sum += std::exchange(p, sum);
    for (int64_t i = 0; i < count; ++i) to[place[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  return from;
}

template <typename T>
auto rows_adder() {
  if constexpr (std::is_same_v<T, double>) {
    return [](const double* x, int64_t stride, const int32_t* order, int64_t count, int64_t width,
              double* out) {
      for (int64_t t = 0; t < count; ++t) {
        for (int64_t i = 0; i < width; ++i) out[i] += x[(order ? order[t] : t) * stride + i];
      }
    };
  } else {
    return HONE_TARGET_FUNCTION(AddRowsTo<T>);
  }
}

}  // namespace

size_t embedding_backward_workspace(int64_t tokens) {
  return static_cast<size_t>(2 * tokens) * sizeof(int32_t);
}

template <typename T>
void embedding_backward(const T* dsum, const int32_t* ids, int64_t tokens, int64_t width,
                        Accumulator<T>* dtable, void* workspace, ThreadPool& pool,
                        int64_t padding) {
  const auto add_rows = rows_adder<T>();
  const int32_t* order = nullptr;
  if (ids) {
    auto* scratch = static_cast<int32_t*>(workspace);
    order = sort_by_id(ids, tokens, scratch, scratch + tokens);
  }
  // Blocks are cut by columns too: a table of types has two long runs of tokens.
  constexpr int64_t kTokens = 64, kColumns = 128;
  const int64_t token_blocks =
      ids ? (tokens + kTokens - 1) / kTokens : std::min<int64_t>(1, tokens);
  const int64_t column_blocks = (width + kColumns - 1) / kColumns;
  const auto id = [&](int64_t t) { return ids[order[t]]; };
  pool.run(token_blocks * column_blocks, [&](int64_t task, int) {
    const int64_t column = task % column_blocks * kColumns;
    const int64_t columns = std::min(kColumns, width - column);
    if (!ids) return add_rows(dsum + column, width, nullptr, tokens, columns, dtable + column);
    int64_t t = task / column_blocks * kTokens;
    const int64_t block_end = std::min(tokens, t + kTokens);
    while (t > 0 && t < block_end && id(t) == id(t - 1)) ++t;  // the block before began this run
    while (t < block_end) {
      int64_t end = t + 1;
      while (end < tokens && id(end) == id(t)) ++end;
      if (id(t) != padding) {
        add_rows(dsum + column, width, order + t, end - t, columns,
                 dtable + id(t) * width + column);
      }
      t = end;
    }
  });
}

template <typename T>
void scatter_rows(const T* dy, const int32_t* index, int64_t count, int64_t rows, int64_t width,
                  bool set, T* dx, ThreadPool& pool) {
  if (set) {
    for_row_ranges(rows, width, pool, [&](int64_t begin, int64_t end) {
      std::memset(dx + begin * width, 0, (end - begin) * width * sizeof(T));
    });
  }
  for_row_ranges(count, width, pool, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = dy + i * width;
      T* to = dx + index[i] * width;
      if (set) {
        std::memcpy(to, from, width * sizeof(T));
      } else if constexpr (std::is_same_v<T, double>) {
        for (int64_t c = 0; c < width; ++c) to[c] += from[c];
      } else {
        HONE_TARGET_FUNCTION(AddTo<T>)(from, width, to);
      }
    }
  });
}

template void embedding_backward(const float*, const int32_t*, int64_t, int64_t, float*, void*,
                                 ThreadPool&, int64_t);
template void embedding_backward(const bf16*, const int32_t*, int64_t, int64_t, float*, void*,
                                 ThreadPool&, int64_t);
template void embedding_backward(const double*, const int32_t*, int64_t, int64_t, double*, void*,
                                 ThreadPool&, int64_t);
template void scatter_rows(const float*, const int32_t*, int64_t, int64_t, int64_t, bool, float*,
                           ThreadPool&);
template void scatter_rows(const bf16*, const int32_t*, int64_t, int64_t, int64_t, bool, bf16*,
                           ThreadPool&);
template void scatter_rows(const double*, const int32_t*, int64_t, int64_t, int64_t, bool, double*,
                           ThreadPool&);

}  // namespace hone::kernels
#endif

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/cpu/gemm_kernel.h"

namespace hone::kernels {
namespace {

template <typename T>
void pack_panel(const float* rows, int64_t count, int64_t width, int64_t k, T* out) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < width; ++j) out[i * width + j] = j < count ? rows[j * k + i] : 0.0f;
  }
}

void pack_panel(const float* rows, int64_t count, int64_t width, int64_t k, bf16* out) {
  for (int64_t i = 0; i < round_up(k, kBf16Depth); ++i) {
    bf16* pairs = out + (i / 2) * width * 2 + i % 2;
    for (int64_t j = 0; j < width; ++j) {
      pairs[j * 2] = j < count && i < k ? to_bf16(rows[j * k + i]) : bf16{0};
    }
  }
}

void pack_panel(const int8_t* rows, const float* scales, int64_t count, int64_t width, int64_t k,
                std::byte* out) {
  const int64_t depth = packed_depth(DType::i8, k);
  auto* bytes = reinterpret_cast<int8_t*>(out);
  auto* row_scales = reinterpret_cast<float*>(out + width * depth);
  auto* row_sums = reinterpret_cast<int32_t*>(row_scales + width);
  std::memset(out, 0, static_cast<size_t>(width) * (static_cast<size_t>(depth) + 8));
  for (int64_t j = 0; j < count; ++j) {
    const int8_t* row = rows + j * k;
    int8_t* column = bytes + j * 4;
    for (int64_t i = 0; i < k; ++i) column[i / 4 * width * 4 + i % 4] = row[i];
    row_scales[j] = scales[j];
    row_sums[j] = std::accumulate(row, row + k, int32_t{0});
  }
}

template <typename T>
void pack(Isa isa, DType dtype, const float* rows, int64_t first, int64_t count, int64_t k,
          T* packed) {
  const int64_t width = panel_rows(isa);
  const int64_t panel = width * packed_depth(dtype, k);
  for (int64_t row = 0; row < count; row += width) {
    pack_panel(rows + row * k, std::min(width, count - row), width, k,
               packed + (first + row) / width * panel);
  }
}

}  // namespace

int64_t panel_rows(Isa isa) {
  if (isa == Isa::none) return 1;
  return isa >= Isa::avx512 ? 32 : isa == Isa::avx2 ? 16 : 8;
}

size_t packed_bytes(Isa isa, DType dtype, int64_t n, int64_t k) {
  return static_cast<size_t>(ceil_div(n, panel_rows(isa))) * panel_bytes(isa, dtype, k);
}

void pack_rows(Isa isa, DType dtype, const float* rows, int64_t first, int64_t count,
               [[maybe_unused]] int64_t n, int64_t k, void* packed) {
  if (dtype == DType::bf16) {
    pack(isa, dtype, rows, first, count, k, static_cast<bf16*>(packed));
  } else if (dtype == DType::f64) {
    pack(isa, dtype, rows, first, count, k, static_cast<double*>(packed));
  } else {
    pack(isa, dtype, rows, first, count, k, static_cast<float*>(packed));
  }
}

void pack_quantized_rows(Isa isa, const int8_t* rows, const float* scales, int64_t first,
                         int64_t count, int64_t k, void* packed) {
  const int64_t width = panel_rows(isa);
  const size_t panel = panel_bytes(isa, DType::i8, k);
  auto* out = static_cast<std::byte*>(packed) + static_cast<size_t>(first / width) * panel;
  for (int64_t row = 0; row < count; row += width, out += panel) {
    pack_panel(rows + row * k, scales + row, std::min(width, count - row), width, k, out);
  }
}

void unpack_row(const PackedMatrix& matrix, int64_t row, float* out) {
  const int64_t width = panel_rows(matrix.isa);
  const int64_t start = row / width * width * packed_depth(matrix.dtype, matrix.k);
  const int64_t lane = row % width;
  for (int64_t i = 0; i < matrix.k; ++i) {
    if (matrix.dtype == DType::i8) {
      const auto* bytes =
          static_cast<const int8_t*>(matrix.data) +
          static_cast<size_t>(row / width) * panel_bytes(matrix.isa, matrix.dtype, matrix.k);
      out[i] = int8_columns(matrix, width, row / width).scales[lane] *
               bytes[(i / 4 * width + lane) * 4 + i % 4];
    } else if (matrix.dtype == DType::bf16) {
      out[i] = to_float(
          static_cast<const bf16*>(matrix.data)[start + (i / 2 * width + lane) * 2 + i % 2]);
    } else if (matrix.dtype == DType::f64) {
      out[i] =
          static_cast<float>(static_cast<const double*>(matrix.data)[start + i * width + lane]);
    } else {
      out[i] = static_cast<const float*>(matrix.data)[start + i * width + lane];
    }
  }
}

}  // namespace hone::kernels

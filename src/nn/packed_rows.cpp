#include "nn/packed_rows.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/embedding.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/quantize.h"

namespace hone::nn {
namespace {

// Rows pass in pieces of about this size: small beside the weights, large beside a system call.
constexpr int64_t kPieceFloats = 1 << 18;

/// Turns each row of a [from, to] matrix into one of a [to, from] matrix.
void turn_rows(const float* rows, int64_t count, int64_t from, int64_t to, float* turned) {
  for (int64_t row = 0; row < count; ++row, rows += from * to, turned += from * to) {
    for (int64_t i = 0; i < from; ++i) {
      for (int64_t j = 0; j < to; ++j) turned[j * from + i] = rows[i * to + j];
    }
  }
}

/// Stores rows as bytes, into a packed matrix or a table.
void store_bytes(const Parameter& parameter, const PackedArray& to, const float* rows,
                 int64_t first, int64_t count) {
  const int64_t width = parameter.weight.width;
  std::vector<int8_t> bytes(static_cast<size_t>(count * width));
  std::vector<float> scales(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    scales[static_cast<size_t>(i)] =
        kernels::quantize_symmetric(rows + i * width, width, bytes.data() + i * width);
  }
  if (parameter.kind == ParameterKind::matrix) {
    kernels::pack_quantized_rows(to.isa, bytes.data(), scales.data(), first, count, width, to.data);
    return;
  }
  const kernels::Int8Table table =
      kernels::int8_table(to.data, parameter.weight.rows, parameter.weight.width);
  std::copy(bytes.begin(), bytes.end(), const_cast<int8_t*>(table.rows) + first * width);
  std::copy(scales.begin(), scales.end(), const_cast<float*>(table.scales) + first);
}

void read_piece(const Parameter& parameter, const ConstPackedArray& from, int64_t first,
                int64_t count, float* rows) {
  if (const int64_t taps = parameter.kernel * parameter.kernel; taps > 1) {
    Parameter plain = parameter;
    plain.kernel = 0;
    std::vector<float> own(static_cast<size_t>(count * parameter.weight.width));
    read_piece(plain, from, first, count, own.data());
    return turn_rows(own.data(), count, taps, parameter.weight.width / taps, rows);
  }
  const Weight& weight = parameter.weight;
  const int64_t width = row_width(parameter);
  if (parameter.kind == ParameterKind::matrix) {
    const kernels::PackedMatrix matrix{from.dtype, from.isa, weight.rows, weight.width, from.data};
    for (int64_t i = 0; i < count; ++i) kernels::unpack_row(matrix, first + i, rows + i * width);
  } else if (from.dtype == DType::i8) {
    const kernels::Int8Table table = kernels::int8_table(from.data, weight.rows, weight.width);
    for (int64_t i = 0; i < count * width; ++i) {
      rows[i] = table.scales[first + i / width] * table.rows[first * width + i];
    }
  } else if (from.dtype == DType::f32) {
    std::copy_n(static_cast<const float*>(from.data) + first * width, count * width, rows);
  } else {
    const bf16* begin = static_cast<const bf16*>(from.data) + first * width;
    std::transform(begin, begin + count * width, rows, [](bf16 value) { return to_float(value); });
  }
}

/// Gives the rows of a piece: a whole number of panels where there is more than one piece.
int64_t piece_rows(const Parameter& parameter, Isa isa) {
  const int64_t panel = kernels::panel_rows(isa);
  const int64_t panels = std::max<int64_t>(1, kPieceFloats / (row_width(parameter) * panel));
  return std::min(row_count(parameter), panels * panel);
}

}  // namespace

std::vector<int64_t> tensor_shape(const Parameter& parameter) {
  const auto tensors = static_cast<int64_t>(parameter.tensors.size());
  const int64_t rows = row_count(parameter) / tensors;
  if (parameter.is_vector()) return {rows};
  if (parameter.kernel == 0) return {rows, parameter.weight.width};
  const int64_t k = parameter.kernel;
  return {rows, parameter.weight.width / (k * k), k, k};
}

void store_rows(const Parameter& parameter, const PackedArray& to, const float* rows, int64_t first,
                int64_t count) {
  const Weight& weight = parameter.weight;
  if (const int64_t taps = parameter.kernel * parameter.kernel; taps > 1) {
    Parameter plain = parameter;
    plain.kernel = 0;
    std::vector<float> turned(static_cast<size_t>(count * weight.width));
    turn_rows(rows, count, weight.width / taps, taps, turned.data());
    return store_rows(plain, to, turned.data(), first, count);
  }
  if (to.dtype == DType::i8) return store_bytes(parameter, to, rows, first, count);
  if (parameter.kind == ParameterKind::matrix) {
    kernels::pack_rows(to.isa, to.dtype, rows, first, count, weight.rows, weight.width, to.data);
    return;
  }
  const int64_t width = row_width(parameter);
  if (to.dtype == DType::f32) {
    std::copy(rows, rows + count * width, static_cast<float*>(to.data) + first * width);
  } else {
    std::transform(rows, rows + count * width, static_cast<bf16*>(to.data) + first * width,
                   to_bf16);
  }
}

void store_rows(const Parameter& parameter, const PackedArray& to,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read) {
  const int64_t rows = row_count(parameter);
  const int64_t piece = piece_rows(parameter, to.isa);
  std::vector<float> buffer(static_cast<size_t>(piece * row_width(parameter)));
  for (int64_t first = 0; first < rows; first += piece) {
    const int64_t count = std::min(piece, rows - first);
    read(first, count, buffer.data());
    store_rows(parameter, to, buffer.data(), first, count);
  }
}

void store_rows(Parameters& parameters, const Parameter& parameter,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read) {
  store_rows(parameter,
             {parameters.isa(), parameter.weight.dtype, parameters.data(parameter.weight)}, read);
}

void read_rows(const Parameter& parameter, const ConstPackedArray& from, int64_t begin, int64_t end,
               FunctionRef<void(int64_t first, int64_t count, const float* rows)> write) {
  const int64_t piece = piece_rows(parameter, from.isa);
  std::vector<float> buffer(static_cast<size_t>(piece * row_width(parameter)));
  for (int64_t first = begin; first < end; first += piece) {
    const int64_t count = std::min(piece, end - first);
    read_piece(parameter, from, first, count, buffer.data());
    write(first, count, buffer.data());
  }
}

}  // namespace hone::nn

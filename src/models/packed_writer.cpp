#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/cpu_info.h"
#include "kernels/cpu/checksum.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/gemm.h"
#include "models/packed_file.h"
#include "models/packed_layout.h"
#include "nn/packed_rows.h"

namespace hone::models {
namespace {

/// A file of parts that start on a page.
class PackedOutput {
 public:
  explicit PackedOutput(const std::string& path) : file_(path, kPackedWrite) {}

  uint64_t align() {
    const uint64_t gap = (kPackedAlign - at_ % kPackedAlign) % kPackedAlign;
    write(std::string(gap, '\0').data(), gap);
    return at_;
  }
  void write(const void* data, size_t bytes) {
    file_.write(data, bytes);
    at_ += bytes;
  }
  uint64_t at() const { return at_; }
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
  uint64_t at_ = 0;
};

Json write_block(PackedOutput& out, const nn::Parameters& all, const nn::Parameter& parameter,
                 const StackedRows& rows) {
  Buffer block(all.bytes_of(parameter));
  std::memset(block.data(), 0, block.size());
  store_rows(parameter, {all.isa(), parameter.weight.dtype, block.data()},
             [&](int64_t first, int64_t count, float* to) { rows.read(first, count, to); });
  Json checksums = Json::array();
  const auto* data = block.as<std::byte>();
  for (uint64_t begin = 0; begin < block.size(); begin += kPackedPiece) {
    const size_t bytes = std::min<uint64_t>(kPackedPiece, block.size() - begin);
    checksums.push_back(kernels::checksum(data + begin, bytes));
  }
  out.write(data, block.size());
  return checksums;
}

void write_table(PackedOutput& out, Isa isa, const nn::Parameter& parameter,
                 const StackedRows& rows) {
  constexpr int64_t kRows = 256;
  nn::Parameter piece = parameter;
  piece.weight.rows = kRows;
  const int64_t width = parameter.weight.width;
  const size_t row_bytes = static_cast<size_t>(width) * dtype_size(parameter.weight.dtype);
  const size_t stride = packed_row_bytes(parameter);
  std::vector<float> values(static_cast<size_t>(kRows * width));
  Buffer table(kernels::int8_table_bytes(kRows, width) + kRows * row_bytes);
  std::vector<std::byte> record(stride);
  for (int64_t first = 0; first < parameter.weight.rows; first += kRows) {
    const int64_t count = std::min(kRows, parameter.weight.rows - first);
    rows.read(first, count, values.data());
    store_rows(piece, {isa, parameter.weight.dtype, table.data()}, values.data(), 0, count);
    const float* scales = kernels::int8_table(table.data(), kRows, width).scales;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(record.data(), table.as<std::byte>() + static_cast<size_t>(i) * row_bytes,
                  row_bytes);
      if (parameter.weight.dtype == DType::i8) {
        std::memcpy(record.data() + row_bytes, scales + i, sizeof(float));
      }
      const size_t checked = stride - sizeof(uint64_t);
      const uint64_t sum = row_checksum(record.data(), checked, first + i);
      std::memcpy(record.data() + checked, &sum, sizeof sum);
      out.write(record.data(), stride);
    }
  }
}

}  // namespace

uint64_t checksum_of(const std::string& text) {
  uint64_t sum = 0;
  for (size_t at = 0; at < text.size(); at += kPackedPiece) {
    const size_t bytes = std::min<size_t>(kPackedPiece, text.size() - at);
    sum = sum * 0x9e3779b97f4a7c15 + kernels::checksum(text.data() + at, bytes);
  }
  return sum;
}

uint64_t row_checksum(const void* record, size_t bytes, int64_t row) {
  return kernels::checksum(record, bytes) + static_cast<uint64_t>(row) * 0x9e3779b97f4a7c15;
}

std::string slot_text(const nn::Parameter& parameter) {
  constexpr const char* kKinds[] = {"matrix", "table", "vector"};
  const Weight& weight = parameter.weight;
  return fmt::format("{} {} [{}, {}] {}", kKinds[static_cast<int>(parameter.kind)],
                     dtype_name(weight.dtype), weight.rows, weight.width,
                     parameter.tensors.front());
}

std::string isa_group() {
  if (chosen_isa() < Isa::avx2) return "neon";
  return chosen_isa() < Isa::avx512 ? "avx2" : "avx512";
}

uint64_t write_packed(const std::string& path, const Model& model, const WeightSources& sources) {
  const nn::Parameters& parameters = model.parameters();
  PackedOutput out(path);
  std::vector<Json> slots(parameters.list().size());
  // Vectors are read before all else. Between the matrices, their pages would be in the cache
  // already, and the system fetches with large pages only where none is.
  for (const auto kind : {nn::ParameterKind::table, nn::ParameterKind::vector,
                          nn::ParameterKind::state, nn::ParameterKind::matrix}) {
    for (size_t i = 0; i < slots.size(); ++i) {
      const nn::Parameter& parameter = parameters.list()[i];
      if (parameter.kind != kind) continue;
      slots[i] = {{"is", slot_text(parameter)}, {"offset", out.align()}};
      slots[i]["checksums"] = Json::array();
      if (kind == nn::ParameterKind::table) {
        write_table(out, parameters.isa(), parameter, sources.rows[i]);
      } else {
        slots[i]["checksums"] = write_block(out, parameters, parameter, sources.rows[i]);
      }
    }
  }
  const std::string index = Json{
      {"dtype", dtype_name(model.dtype())},
      {"isa", isa_group()},
      {"panel_rows", kernels::panel_rows(parameters.isa())},
      {"head", model.has_head()},
      {"slots",
       std::move(slots)}}.dump();
  PackedTrailer trailer{{}, out.at(), index.size(), checksum_of(index)};
  std::memcpy(trailer.magic, kPackedMagic, sizeof trailer.magic);
  out.write(index.data(), index.size());
  out.write(&trailer, sizeof trailer);
  out.commit();
  return out.at();
}

}  // namespace hone::models

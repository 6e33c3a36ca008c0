#include "models/packed_file.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/page_cache.h"
#include "device/cpu_info.h"
#include "kernels/cpu/checksum.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/gemm.h"
#include "models/packed_layout.h"
#include "nn/packed_rows.h"

namespace hone::models {
namespace {

DType parse_packed_dtype(const JsonFields& fields) {
  const std::string name = fields.string("dtype");
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8}) {
    if (name == dtype_name(dtype)) return dtype;
  }
  fields.fail_field("dtype", "expected fp32, bf16 or int8, got " + quote(name));
}

uint64_t checked_bytes(const nn::Parameter& parameter, const nn::Parameters& all) {
  if (parameter.kind != nn::ParameterKind::table) return all.bytes_of(parameter);
  return static_cast<uint64_t>(parameter.weight.rows) * packed_row_bytes(parameter);
}

std::vector<uint64_t> read_checksums(const JsonFields& fields, uint64_t count) {
  const Json& list = fields.at("checksums");
  if (!list.is_array() || list.size() != count) {
    fields.fail_field("checksums", fmt::format("expected {} numbers", count));
  }
  std::vector<uint64_t> checksums;
  for (const Json& each : list) {
    if (!each.is_number_unsigned()) fields.fail_field("checksums", "expected numbers");
    checksums.push_back(each.get<uint64_t>());
  }
  return checksums;
}

}  // namespace

size_t packed_row_bytes(const nn::Parameter& table) {
  const size_t row = static_cast<size_t>(table.weight.width) * dtype_size(table.weight.dtype);
  return row + (table.weight.dtype == DType::i8 ? sizeof(float) : 0) + sizeof(uint64_t);
}

PackedFile::PackedFile(const std::string& path) : file_(path) { read_index(); }

void PackedFile::read_index() {
  const uint64_t size = file_.size();
  PackedTrailer trailer{};
  if (size < sizeof trailer) fail(ErrorKind::bad_file, "{}: cut short: {} bytes", path(), size);
  file_.read(size - sizeof trailer, &trailer, sizeof trailer);
  if (std::memcmp(trailer.magic, kPackedMagic, sizeof trailer.magic) != 0) {
    fail(ErrorKind::bad_file, "{}: cut short, or not a packed file of hone's", path());
  }
  const uint64_t end = size - sizeof trailer;
  if (trailer.index_bytes > kMaxIndexBytes || trailer.index_bytes > end ||
      trailer.index_offset != end - trailer.index_bytes) {
    fail(ErrorKind::bad_file, "{}: index of {} bytes at byte {} of a file of {}", path(),
         trailer.index_bytes, trailer.index_offset, size);
  }
  std::string text(trailer.index_bytes, '\0');
  file_.read(trailer.index_offset, text.data(), text.size());
  if (checksum_of(text) != trailer.index_checksum) {
    fail(ErrorKind::bad_file, "{}: the index does not have its checksum", path());
  }
  weights_end_ = trailer.index_offset;
  index_ = parse_json(text, path());
  const JsonFields fields(index_, path());
  dtype_ = parse_packed_dtype(fields);
  has_head_ = fields.boolean("head");
  const int64_t panel = fields.integer("panel_rows", 1, 1 << 16);
  if (panel != kernels::panel_rows(chosen_isa()) || fields.string("isa") != isa_group()) {
    fail(ErrorKind::unsupported,
         "{}: packed for {} (panels of {} rows), this machine runs {} (panels of {}): convert the "
         "model again with `stream` here",
         path(), quote(fields.string("isa")), panel, isa_group(),
         kernels::panel_rows(chosen_isa()));
  }
}

void PackedFile::check(const Model& model) {
  const std::vector<nn::Parameter>& list = model.parameters().list();
  const JsonFields fields(index_, path());
  const Json& slots = fields.at("slots");
  if (!slots.is_array() || slots.size() < list.size()) {
    fields.fail_field("slots", fmt::format("expected at least {}", list.size()));
  }
  slots_.clear();
  for (size_t i = 0; i < list.size(); ++i) {
    const nn::Parameter& parameter = list[i];
    const JsonFields entry(slots[i], path(), fmt::format("slots[{}]", i));
    const std::string wanted = slot_text(parameter);
    if (entry.string("is") != wanted) {
      entry.fail_field("is", fmt::format("expected {}, as the config says, got {}", quote(wanted),
                                         quote(entry.string("is"))));
    }
    PackedSlot slot;
    slot.bytes = checked_bytes(parameter, model.parameters());
    if (slot.bytes > weights_end_) entry.fail_field("is", "is larger than the file");
    const auto most = static_cast<int64_t>(weights_end_ - slot.bytes);
    slot.offset = static_cast<uint64_t>(entry.integer("offset", 0, most));
    if (slot.offset % kPackedAlign != 0) {
      entry.fail_field("offset", fmt::format("{} is not on a page", slot.offset));
    }
    const bool table = parameter.kind == nn::ParameterKind::table;
    slot.checksums = read_checksums(entry, table ? 0 : pieces_of(slot.bytes));
    slots_.push_back(std::move(slot));
  }
  index_ = Json();
}

void PackedFile::check_piece(const nn::Parameter& parameter, size_t piece,
                             const std::byte* data) const {
  const PackedSlot& place = slot(parameter);
  const uint64_t begin = piece * kPackedPiece;
  const size_t bytes = std::min<uint64_t>(kPackedPiece, place.bytes - begin);
  if (kernels::checksum(data, bytes) == place.checksums[piece]) return;
  fail(ErrorKind::io, "{}: {}: bytes {} to {} do not have their checksum: the file has changed",
       path(), parameter.tensors.front(), place.offset + begin, place.offset + begin + bytes);
}

uint64_t PackedFile::huge_page_bytes(const nn::Parameter& parameter) const {
  return MappedWindow::huge_page_bytes(slot(parameter).offset, slot(parameter).bytes);
}

MappedWindow PackedFile::map(const nn::Parameter& parameter, bool huge_pages, ThreadPool& pool) {
  const PackedSlot& place = slot(parameter);
  const auto asked = asked_.extract(parameter.weight.slot);
  const bool cached = asked && ahead_.wait(asked.mapped());
  MappedWindow window(file_, place.offset, place.bytes, huge_pages);
  if (cached) window.foresee(false);
  const auto* data = static_cast<const std::byte*>(window.data());
  pool.run(static_cast<int64_t>(place.checksums.size()), [&](int64_t piece, int) {
    check_piece(parameter, static_cast<size_t>(piece),
                data + static_cast<uint64_t>(piece) * kPackedPiece);
  });
  if (cached) window.foresee(true);
  return window;
}

void PackedFile::read(const nn::Parameter& parameter, void* out) const {
  const PackedSlot& place = slot(parameter);
  auto* to = static_cast<std::byte*>(out);
  for (size_t piece = 0; piece < place.checksums.size(); ++piece) {
    const uint64_t begin = piece * kPackedPiece;
    const size_t bytes = std::min<uint64_t>(kPackedPiece, place.bytes - begin);
    file_.read(place.offset + begin, to + begin, bytes);
    check_piece(parameter, piece, to + begin);
  }
}

void PackedFile::read_row(const nn::Parameter& parameter, int64_t row, void* table) const {
  const Weight& weight = parameter.weight;
  const size_t stride = packed_row_bytes(parameter);
  std::vector<std::byte> record(stride);
  const uint64_t at = slot(parameter).offset + static_cast<uint64_t>(row) * stride;
  file_.read(at, record.data(), stride);
  const size_t checked = stride - sizeof(uint64_t);
  uint64_t sum = 0;
  std::memcpy(&sum, record.data() + checked, sizeof sum);
  if (row_checksum(record.data(), checked, row) != sum) {
    fail(ErrorKind::io, "{}: {}: row {} does not have its checksum: the file has changed", path(),
         parameter.tensors.front(), row);
  }
  const size_t bytes = static_cast<size_t>(weight.width) * dtype_size(weight.dtype);
  std::memcpy(static_cast<std::byte*>(table) + static_cast<size_t>(row) * bytes, record.data(),
              bytes);
  if (weight.dtype != DType::i8) return;
  const kernels::Int8Table block = kernels::int8_table(table, weight.rows, weight.width);
  std::memcpy(const_cast<float*>(block.scales) + row, record.data() + bytes, sizeof(float));
}

void PackedFile::will_need(const nn::Parameter& parameter) {
  if (asked_.contains(parameter.weight.slot)) return;
  const PackedSlot& place = slot(parameter);
  asked_[parameter.weight.slot] = ahead_.want(place.offset, place.bytes);
}

void PackedFile::will_need_row(const nn::Parameter& parameter, int64_t row) const {
  const size_t stride = packed_row_bytes(parameter);
  file_.will_need(slot(parameter).offset + static_cast<uint64_t>(row) * stride, stride);
}

void PackedFile::will_need_all() const { bring_to_cache(file_, 0, weights_end_); }

void PackedFile::finish() {
  asked_.clear();
  if (file_.changed()) fail(ErrorKind::io, "{}: was written to while it was read", path());
}

void load_packed(Model& model, const PackedFile& file, ThreadPool& pool) {
  nn::Parameters& parameters = model.parameters();
  parameters.allocate();
  // Threads that read here and there would fill the cache with small pages, for good.
  file.will_need_all();
  const std::vector<nn::Parameter>& list = parameters.list();
  pool.run(static_cast<int64_t>(list.size()), [&](int64_t i, int) {
    const nn::Parameter& parameter = list[static_cast<size_t>(i)];
    void* to = parameters.data(parameter.weight);
    if (parameter.kind != nn::ParameterKind::table) return file.read(parameter, to);
    for (int64_t row = 0; row < parameter.weight.rows; ++row) file.read_row(parameter, row, to);
  });
}

}  // namespace hone::models

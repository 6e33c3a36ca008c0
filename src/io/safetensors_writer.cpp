#include "io/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "io/convert.h"
#include "io/tensor_check.h"

namespace hone::io {
namespace {

constexpr int64_t kPiece = 16 * 1024;  // elements converted at once
constexpr size_t kAlignment = 8;       // the reference implementation aligns the data so

std::string_view safetensors_name(DType dtype) {
  constexpr std::array<std::string_view, 10> kNames = {"F64", "F32", "F16", "BF16", "I64",
                                                       "I32", "I16", "I8",  "U8",   "BOOL"};
  return kNames[static_cast<size_t>(dtype)];
}

int64_t elements_of(const TensorSpec& tensor, const std::string& path) {
  const bool negative =
      std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t size) { return size < 0; });
  const std::optional<int64_t> elements = negative ? std::nullopt : count_elements(tensor.shape);
  if (!elements) fail(ErrorKind::internal, "{}: {}: bad shape", path, quote(tensor.name));
  return *elements;
}

uint64_t bytes_of(const TensorSpec& tensor, const std::string& path) {
  return static_cast<uint64_t>(elements_of(tensor, path)) * dtype_size(tensor.dtype);
}

void order(std::vector<TensorSpec>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorSpec& a, const TensorSpec& b) {
    return std::forward_as_tuple(dtype_size(b.dtype), a.name) <
           std::forward_as_tuple(dtype_size(a.dtype), b.name);
  });
}

std::string header_of(const std::vector<TensorSpec>& tensors, const std::string& path) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    check_tensor_name(tensor.name, path);
    const uint64_t end = offset + bytes_of(tensor, path);
    Json entry = {{"dtype", safetensors_name(tensor.dtype)},
                  {"shape", tensor.shape},
                  {"data_offsets", {offset, end}}};
    if (!header.emplace(tensor.name, std::move(entry)).second) {
      fail(ErrorKind::internal, "{}: {} is written twice", path, quote(tensor.name));
    }
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors)
    : path_(path), file_(path), tensors_(std::move(tensors)) {
  order(tensors_);
  const std::string header = header_of(tensors_, path_);
  const uint64_t length = header.size();
  file_.write(&length, sizeof length);
  file_.write(header);
  next_tensor();
}

/// Goes on to the first tensor from current_ that has elements.
void SafetensorsWriter::next_tensor() {
  for (; current_ < tensors_.size(); ++current_) {
    left_ = elements_of(tensors_[current_], path_);
    if (left_ > 0) return;
  }
}

const TensorSpec& SafetensorsWriter::take(int64_t count) {
  if (complete() || count < 0 || count > left_) {
    fail(ErrorKind::internal, "{}: {} elements written, {} were left", path_, count,
         complete() ? 0 : left_);
  }
  const TensorSpec& tensor = tensors_[current_];
  left_ -= count;
  if (left_ == 0) {
    ++current_;
    next_tensor();
  }
  return tensor;
}

void SafetensorsWriter::write(const float* values, int64_t count) {
  if (count == 0) return;
  const DType dtype = take(count).dtype;
  if (dtype == DType::f32) return file_.write(values, static_cast<size_t>(count) * sizeof(float));
  const int64_t piece = std::min(kPiece, count);
  std::vector<double> buffer(static_cast<size_t>(piece));  // aligned and large enough for any dtype
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t now = std::min(piece, count - done);
    from_fp32(values + done, now, dtype, buffer.data());
    file_.write(buffer.data(), static_cast<size_t>(now) * dtype_size(dtype));
  }
}

void SafetensorsWriter::write_raw(const void* values, int64_t count) {
  if (count == 0) return;
  const DType dtype = take(count).dtype;
  file_.write(values, static_cast<size_t>(count) * dtype_size(dtype));
}

void SafetensorsWriter::check_complete() const {
  if (!complete()) {
    fail(ErrorKind::internal, "{}: {} is incomplete", path_, quote(tensors_[current_].name));
  }
}

void SafetensorsWriter::commit() {
  check_complete();
  file_.commit();
}

WeightsWriter::WeightsWriter(const std::string& folder, std::vector<TensorSpec> tensors,
                             uint64_t max_shard_bytes)
    : folder_(folder) {
  order(tensors);
  std::vector<std::vector<TensorSpec>> parts(1);
  uint64_t size = 0;
  for (TensorSpec& tensor : tensors) {
    const uint64_t bytes = bytes_of(tensor, folder);
    if (max_shard_bytes != 0 && !parts.back().empty() && size + bytes > max_shard_bytes) {
      parts.emplace_back();
      size = 0;
    }
    size += bytes;
    parts.back().push_back(std::move(tensor));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name =
        parts.size() == 1 ? "model.safetensors"
                          : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, parts.size());
    tensors_.insert(tensors_.end(), parts[i].begin(), parts[i].end());
    shards_.push_back({name, std::make_unique<SafetensorsWriter>(fmt::format("{}/{}", folder, name),
                                                                 std::move(parts[i]))});
  }
}

SafetensorsWriter& WeightsWriter::shard() {
  while (current_ + 1 < shards_.size() && shards_[current_].writer->complete()) ++current_;
  return *shards_[current_].writer;
}

void WeightsWriter::write(const float* values, int64_t count) {
  if (count > 0) shard().write(values, count);
}

void WeightsWriter::write_raw(const void* values, int64_t count) {
  if (count > 0) shard().write_raw(values, count);
}

void WeightsWriter::write_index() const {
  Json map = Json::object();
  uint64_t total = 0;
  for (const Shard& shard : shards_) {
    for (const TensorSpec& tensor : shard.writer->tensors()) {
      map[tensor.name] = shard.name;
      total += bytes_of(tensor, folder_);
    }
  }
  write_json(folder_ + "/model.safetensors.index.json",
             {{"metadata", {{"total_size", total}}}, {"weight_map", map}});
}

void WeightsWriter::commit() {
  for (const Shard& shard : shards_) shard.writer->check_complete();
  for (const Shard& shard : shards_) shard.writer->commit();
  if (shards_.size() > 1) write_index();
}

}  // namespace hone::io

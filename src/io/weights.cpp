#include "io/weights.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/json.h"
#include "io/convert.h"
#include "io/safetensors.h"
#include "io/strided.h"
#include "io/torch_file.h"

namespace hone::io {
namespace {

constexpr size_t kBuffer = 128 * 1024;        // stays in the second-level cache
constexpr int64_t kGatherElements = 1 << 20;  // gathered at once where strided and converted
constexpr uint64_t kMaxIndex = 16 * 1024 * 1024;

constexpr std::array<const char*, 4> kFolderFiles = {
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "pytorch_model.bin.index.json"};

/// Gives the path of the folder's weights, empty where there are none.
std::string find_weights(const std::string& folder) {
  for (const char* name : kFolderFiles) {
    std::string path = (std::filesystem::path(folder) / name).string();
    if (file_exists(path)) return path;
  }
  return "";
}

std::string weights_in(const std::string& folder) {
  std::string path = find_weights(folder);
  if (!path.empty()) return path;
  fail(ErrorKind::bad_file, "{}: no weights: looked for {}", folder, fmt::join(kFolderFiles, ", "));
}

enum class Container { safetensors, torch };

Container container_of(const InputFile& file) {
  std::array<char, 9> head{};
  file.read(0, head.data(), std::min<uint64_t>(head.size(), file.size()));
  // safetensors: a length of 8 bytes and a JSON object. This comes first, since a length of 640
  // begins as a pickle does.
  if (head[8] == '{' || file.path().ends_with(".safetensors")) return Container::safetensors;
  if (head[0] == '\x80' || std::string_view(head.data(), 4) == "PK\3\4") return Container::torch;
  fail(ErrorKind::bad_file, "{}: neither safetensors nor a file of torch.save", file.path());
}

void check_range(const TensorInfo& tensor, int64_t first, int64_t count) {
  if (first < 0 || count < 0 || first > tensor.elements || count > tensor.elements - first) {
    fail(ErrorKind::internal, "{}: elements [{}, {} + {}) of {}", quote(tensor.name), first, first,
         count, tensor.elements);
  }
}

}  // namespace

bool has_weights(const std::string& folder) { return !find_weights(folder).empty(); }

std::unique_ptr<Weights> Weights::open(const std::string& folder_or_file) {
  const std::string path =
      folder_exists(folder_or_file) ? weights_in(folder_or_file) : folder_or_file;
  std::unique_ptr<Weights> weights(new Weights(path));
  if (path.ends_with(".index.json")) {
    weights->add_shards(path);
  } else {
    weights->add_file(path);
  }
  weights->sort();
  return weights;
}

void Weights::add_file(const std::string& path) {
  InputFile file(path);
  Metadata metadata;
  std::vector<TensorInfo> found;
  if (container_of(file) == Container::safetensors) {
    found = read_safetensors_header(file, metadata);
  } else {
    found = read_torch_file(file);
  }
  if (files_.empty()) metadata_ = std::move(metadata);
  for (TensorInfo& tensor : found) {
    tensor.place.file = files_.size();
    tensors_.push_back(std::move(tensor));
  }
  files_.push_back(std::move(file));
}

void Weights::add_shards(const std::string& index) {
  const Json json = parse_json(read_file(index, kMaxIndex), index);
  const Json& map = JsonFields(json, index).at("weight_map");
  if (!map.is_object()) fail(ErrorKind::bad_file, "{}: weight_map: expected an object", index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : map.items()) {
    const std::string* file = shard.get_ptr<const std::string*>();
    // The index may name a file alone: it must not reach outside its folder.
    if (!file || file->empty() || *file == "." || *file == ".." ||
        file->find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      fail(ErrorKind::bad_file,
           "{}: weight_map: {}: expected the name of a file in the folder, got {}", index,
           quote(name), quote(file ? *file : shard.dump()));
    }
    shards.insert(*file);
  }
  const std::filesystem::path folder = std::filesystem::path(index).parent_path();
  for (const std::string& shard : shards) {
    const std::string path = (folder / shard).string();
    if (!file_exists(path)) {
      fail(ErrorKind::bad_file, "{}: weight_map: shard {} is missing", index, quote(shard));
    }
    add_file(path);
  }
  sort();
  for (const auto& [name, shard] : map.items()) {
    const TensorInfo* tensor = find(name);
    if (!tensor || std::filesystem::path(file_of(*tensor)).filename().string() != shard) {
      fail(ErrorKind::bad_file, "{}: weight_map: {} is not in {}", index, quote(name),
           quote(shard.get<std::string>()));
    }
  }
}

void Weights::sort() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(tensors_.begin(), tensors_.end(),
                         [](const TensorInfo& a, const TensorInfo& b) { return a.name == b.name; });
  if (twice != tensors_.end()) {
    fail(ErrorKind::bad_file, "{}: tensor {} is also in {}", file_of(*twice), quote(twice->name),
         file_of(*(twice + 1)));
  }
}

const TensorInfo* Weights::find(std::string_view name) const {
  const auto it =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const TensorInfo& a, std::string_view key) { return a.name < key; });
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

const std::string& Weights::file_of(const TensorInfo& tensor) const {
  return files_[tensor.place.file].path();
}

void Weights::read_raw(const TensorInfo& tensor, int64_t first, int64_t count, void* out) const {
  check_range(tensor, first, count);
  const InputFile& file = files_[tensor.place.file];
  if (!tensor.place.strides.empty()) return read_strided(file, tensor, first, count, out);
  const uint64_t size = dtype_size(tensor.dtype);
  file.read(tensor.place.offset + static_cast<uint64_t>(first) * size, out,
            static_cast<size_t>(count) * size);
}

void Weights::read(const TensorInfo& tensor, int64_t first, int64_t count, float* out) const {
  if (tensor.dtype == DType::f32) return read_raw(tensor, first, count, out);
  check_range(tensor, first, count);
  const size_t size = dtype_size(tensor.dtype);
  const int64_t most =
      tensor.place.strides.empty() ? static_cast<int64_t>(kBuffer / size) : kGatherElements;
  const int64_t piece = std::min(most, count);
  const std::unique_ptr<std::byte[]> buffer(new std::byte[static_cast<size_t>(piece) * size]);
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t now = std::min(piece, count - done);
    read_raw(tensor, first + done, now, buffer.get());
    to_fp32(tensor.dtype, buffer.get(), now, out + done);
  }
}

std::string Weights::changed() const {
  for (const InputFile& file : files_) {
    if (file.changed()) return file.path();
  }
  return "";
}

}  // namespace hone::io

#include "models/convert.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "io/safetensors_writer.h"
#include "io/weights.h"
#include "models/folder.h"
#include "models/load.h"

namespace hone::models {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPieceFloats = 1 << 18;

bool holds_weights(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".bin") || name.ends_with(".pth") ||
         name.ends_with(".th") || name.ends_with(".pt") || name.ends_with(".index.json");
}

/// Every file but the weights: config, tokenizer, the folders of sentence-transformers.
void copy_rest(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && fs::exists(entry.path() / "config.json")) {
      fs::create_directories(to / name);
      copy_rest(entry.path(), to / name);
    } else if (entry.is_regular_file() && !holds_weights(name)) {
      OutputFile file((to / name).string());
      file.write(read_file(entry.path().string()));
      file.commit();
    }
  }
}

void write_config(Json config, DType dtype, const std::string& path) {
  const char* name = dtype == DType::f32 ? "float32" : dtype == DType::f16 ? "float16" : "bfloat16";
  // transformers renamed the field in version 4.56; both are read there.
  for (const char* field : {"torch_dtype", "dtype"}) {
    if (config.contains(field)) config[field] = name;
  }
  OutputFile file(path);
  file.write(config.dump(2) + "\n");
  file.commit();
}

Converted write_weights(const io::Weights& weights, const std::string& to,
                        const ConvertOptions& options) {
  std::vector<io::TensorSpec> specs;
  std::vector<std::pair<std::string, const io::TensorInfo*>> sources;
  for (const io::TensorInfo& tensor : weights.tensors()) {
    const std::string name = modern_name(tensor.name);
    const DType dtype = is_floating(tensor.dtype) ? options.dtype : tensor.dtype;
    specs.push_back({name, dtype, tensor.shape});
    sources.emplace_back(name, &tensor);
  }
  std::sort(sources.begin(), sources.end());
  io::WeightsWriter writer(to, std::move(specs), options.max_shard_bytes);
  Converted converted;
  std::vector<float> piece(kPieceFloats);
  for (const io::TensorSpec& spec : writer.tensors()) {
    const auto source = std::lower_bound(
        sources.begin(), sources.end(), spec.name,
        [](const auto& pair, const std::string& name) { return pair.first < name; });
    const io::TensorInfo& tensor = *source->second;
    for (int64_t first = 0; first < tensor.elements; first += kPieceFloats) {
      const int64_t count = std::min(kPieceFloats, tensor.elements - first);
      if (is_floating(tensor.dtype)) {
        weights.read(tensor, first, count, piece.data());
        writer.write(piece.data(), count);
      } else {
        std::vector<std::byte> raw(static_cast<size_t>(count) * dtype_size(tensor.dtype));
        weights.read_raw(tensor, first, count, raw.data());
        writer.write_raw(raw.data(), count);
      }
    }
    ++converted.tensors;
    converted.bytes += static_cast<uint64_t>(tensor.elements) * dtype_size(spec.dtype);
  }
  writer.commit();
  return converted;
}

}  // namespace

Converted convert_folder(const std::string& folder, const std::string& to,
                         const ConvertOptions& options) {
  const ModelFolder model = open_model_folder(folder);
  if (!model.adapter.empty()) {
    fail(ErrorKind::unsupported, "{}: an adapter cannot be converted; convert its base", folder);
  }
  const auto weights = io::Weights::open(model.path);
  OutputFolder out(to);
  try {
    copy_rest(folder, out.partial());
    const fs::path relative = fs::relative(model.path, folder);
    const std::string place = (fs::path(out.partial()) / relative).string();
    write_config(model.config_json, options.dtype, place + "/config.json");
    const Converted converted = write_weights(*weights, place, options);
    out.commit();
    return converted;
  } catch (const fs::filesystem_error& e) {
    fail(ErrorKind::io, "{}: {}", to, e.code().message());
  }
}

}  // namespace hone::models

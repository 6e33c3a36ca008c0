#include "models/convert_tensors.h"

#include <algorithm>
#include <map>

#include "device/cpu_info.h"
#include "kernels/cpu/quantize.h"
#include "models/int8.h"
#include "models/load.h"
#include "models/model.h"

namespace hone::models {
namespace {

using Content = WrittenTensor::Content;

constexpr int64_t kPieceFloats = 1 << 18;

int64_t width_of(const io::TensorInfo& tensor) {
  return tensor.shape.empty() ? 1 : tensor.elements / std::max<int64_t>(1, tensor.shape[0]);
}

/// Gives the dtypes of a model's tensors in int8, by their names in the checkpoint.
std::map<std::string, DType> int8_dtypes(const ModelConfig& config, const io::Weights& weights,
                                         const std::vector<std::string>& kept) {
  const std::unique_ptr<ModelConfig> cut = config.clone();
  cut->quantization.kept = kept;
  const bool head = has_head_weights(family_of(config), weights);
  const auto model = make_model(*cut, {DType::i8, chosen_isa(), head});
  std::map<std::string, DType> dtypes;
  for (const nn::Parameter& parameter : model->parameters().list()) {
    for (const std::string& name : parameter.tensors) {
      const io::TensorInfo* tensor = find_tensor(model->family(), weights, name);
      if (tensor) dtypes.emplace(tensor->name, parameter.weight.dtype);
    }
  }
  return dtypes;
}

bool is_scale(const io::Weights& weights, const io::TensorInfo& tensor) {
  const std::string ending = kScaleEnding;
  if (!tensor.name.ends_with(ending)) return false;
  const io::TensorInfo* bytes =
      weights.find(tensor.name.substr(0, tensor.name.size() - ending.size()));
  return bytes && bytes->dtype == DType::i8;
}

template <typename Write>
void for_rows(const TensorSource& source, const Write& write) {
  const int64_t width = width_of(*source.tensor);
  const int64_t rows = width > 0 ? source.tensor->elements / width : 0;
  const int64_t piece = std::max<int64_t>(1, kPieceFloats / std::max<int64_t>(1, width));
  std::vector<float> buffer(static_cast<size_t>(std::min(rows, piece) * width));
  const StackedRows stacked({source}, width);
  for (int64_t first = 0; first < rows; first += piece) {
    const int64_t count = std::min(piece, rows - first);
    stacked.read(first, count, buffer.data());
    write(count, width, buffer.data());
  }
}

void write_as_stored(const io::Weights& weights, const io::TensorInfo& tensor,
                     io::WeightsWriter& writer) {
  std::vector<std::byte> raw;
  for (int64_t first = 0; first < tensor.elements; first += kPieceFloats) {
    const int64_t count = std::min(kPieceFloats, tensor.elements - first);
    raw.resize(static_cast<size_t>(count) * dtype_size(tensor.dtype));
    weights.read_raw(tensor, first, count, raw.data());
    writer.write_raw(raw.data(), count);
  }
}

void write_numbers(const io::Weights& weights, const TensorSource& source,
                   io::WeightsWriter& writer) {
  if (source.scales) {
    for_rows(source, [&](int64_t count, int64_t width, const float* rows) {
      writer.write(rows, count * width);
    });
    return;
  }
  std::vector<float> piece(kPieceFloats);
  for (int64_t first = 0; first < source.tensor->elements; first += kPieceFloats) {
    const int64_t count = std::min(kPieceFloats, source.tensor->elements - first);
    weights.read(*source.tensor, first, count, piece.data());
    writer.write(piece.data(), count);
  }
}

void write_quantized(const WrittenTensor& tensor, io::WeightsWriter& writer) {
  std::vector<int8_t> bytes;
  std::vector<float> scales;
  for_rows(tensor.source, [&](int64_t count, int64_t width, const float* rows) {
    bytes.resize(static_cast<size_t>(count * width));
    scales.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      scales[static_cast<size_t>(i)] =
          kernels::quantize_symmetric(rows + i * width, width, bytes.data() + i * width);
    }
    if (tensor.content == Content::scales) {
      writer.write(scales.data(), count);
    } else {
      writer.write_raw(bytes.data(), count * width);
    }
  });
}

}  // namespace

int64_t elements_of(const io::TensorSpec& spec) {
  int64_t count = 1;
  for (const int64_t size : spec.shape) count *= size;
  return count;
}

std::vector<WrittenTensor> written_tensors(const ModelConfig& config, const io::Weights& weights,
                                           const ConvertOptions& options) {
  std::map<std::string, DType> dtypes;
  if (options.dtype == DType::i8) dtypes = int8_dtypes(config, weights, options.kept);
  std::vector<WrittenTensor> tensors;
  for (const io::TensorInfo& tensor : weights.tensors()) {
    if (is_scale(weights, tensor)) continue;
    TensorSource source{&weights, &tensor};
    if (tensor.dtype == DType::i8) source.scales = weights.find(tensor.name + kScaleEnding);
    const std::string name = modern_name(tensor.name);
    if (!is_floating(tensor.dtype) && !source.scales) {
      tensors.push_back({{name, tensor.dtype, tensor.shape}, Content::as_stored, source});
      continue;
    }
    DType dtype = options.dtype;
    // What the encoder does not use stays as it is.
    if (dtype == DType::i8) {
      const auto found = dtypes.find(tensor.name);
      dtype = found == dtypes.end() ? tensor.dtype : found->second;
    }
    if (dtype != DType::i8) {
      tensors.push_back({{name, dtype, tensor.shape}, Content::numbers, source});
      continue;
    }
    tensors.push_back({{name, DType::i8, tensor.shape}, Content::bytes, source});
    tensors.push_back(
        {{name + kScaleEnding, DType::f32, {tensor.shape[0]}}, Content::scales, source});
  }
  return tensors;
}

void write_tensor(const io::Weights& weights, const WrittenTensor& tensor,
                  io::WeightsWriter& writer) {
  switch (tensor.content) {
    case Content::as_stored:
      return write_as_stored(weights, *tensor.source.tensor, writer);
    case Content::numbers:
      return write_numbers(weights, tensor.source, writer);
    case Content::bytes:
    case Content::scales:
      return write_quantized(tensor, writer);
  }
}

}  // namespace hone::models

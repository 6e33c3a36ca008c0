#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/json_text.h"
#include "serve/errors.h"
#include "serve/wire_kserve.h"

namespace hone::serve {
namespace {

/// A tensor of the answer: floats or strings.
struct OutputTensor {
  std::string_view name;
  int64_t rows = 0;
  int64_t width = 0;  ///< 0: of one dimension
  std::vector<float> values = {};
  std::vector<std::string> strings = {};
  bool is_text = false;
};

/// The tensors that a model has, in the order in which they are given where none is asked for.
std::span<const std::string_view> output_names(const InferModel& model) {
  static constexpr std::string_view kClassifier[] = {"scores", "label", "logits"};
  static constexpr std::string_view kEmbedding[] = {"embedding"};
  if (model.config) return kClassifier;
  return kEmbedding;
}

OutputTensor make_tensor(const InferModel& model, std::string_view name,
                         std::span<const infer::Answer> answers) {
  OutputTensor tensor{.name = name, .rows = static_cast<int64_t>(answers.size())};
  tensor.is_text = name == "label";
  EmbedAsk plain;
  plain.normalize = model.normalize;
  for (const infer::Answer& answer : answers) {
    std::vector<float> values =
        !model.config
            ? embedding_of(plain, answer)
            : scores_of(*model.config,
                        name == "logits" ? ScoreFunction::none : ScoreFunction::of_model, answer);
    if (tensor.is_text) {
      const auto best = std::max_element(values.begin(), values.end()) - values.begin();
      tensor.strings.push_back(model.config->labels[static_cast<size_t>(best)]);
      continue;
    }
    tensor.width = static_cast<int64_t>(values.size());
    tensor.values.insert(tensor.values.end(), values.begin(), values.end());
  }
  return tensor;
}

/// Triton's classification extension: the best labels as strings.
OutputTensor best_classes(const InferModel& model, OutputTensor scores, int64_t count) {
  const auto width = static_cast<size_t>(scores.width);
  const size_t kept = std::min(width, static_cast<size_t>(count));
  OutputTensor out{.name = scores.name, .rows = scores.rows, .width = static_cast<int64_t>(kept)};
  out.is_text = true;
  std::vector<size_t> order(width);
  for (size_t row = 0; row < static_cast<size_t>(scores.rows); ++row) {
    const float* values = scores.values.data() + row * width;
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return values[a] > values[b]; });
    for (size_t i = 0; i < kept; ++i) {
      out.strings.push_back(
          fmt::format("{:f}:{}:{}", values[order[i]], order[i], model.config->labels[order[i]]));
    }
  }
  return out;
}

std::string bytes_of(const OutputTensor& tensor) {
  std::string bytes;
  if (!tensor.is_text) {
    bytes.resize(tensor.values.size() * sizeof(float));
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.values.data(), bytes.size());
    return bytes;
  }
  for (const std::string& text : tensor.strings) {
    const auto length = static_cast<uint32_t>(text.size());
    char prefix[sizeof length];
    std::memcpy(prefix, &length, sizeof length);
    bytes.append(prefix, sizeof length).append(text);
  }
  return bytes;
}

void append_tensor(const OutputTensor& tensor, bool binary, std::string& json, std::string& bytes) {
  json += "{\"name\":";
  append_json(json, tensor.name);
  json += fmt::format(",\"shape\":[{}", tensor.rows);
  if (tensor.width > 0) json += fmt::format(",{}", tensor.width);
  json += tensor.is_text ? "],\"datatype\":\"BYTES\"" : "],\"datatype\":\"FP32\"";
  if (binary) {
    const std::string own = bytes_of(tensor);
    json += fmt::format(",\"parameters\":{{\"binary_data_size\":{}}}", own.size());
    bytes += own;
  } else {
    json += ",\"data\":";
    if (tensor.is_text) {
      append_json_list(json, tensor.strings);
    } else {
      append_json_list(json, tensor.values);
    }
  }
  json += '}';
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += out.size() > 1 ? "," : "";
  append_json(out, name);
  out += ':';
  append_json(out, value);
}

std::vector<AskedOutput> asked_outputs(const InferModel& model, const InferAsk& ask) {
  const auto names = output_names(model);
  std::vector<AskedOutput> asked = ask.outputs;
  if (asked.empty()) {
    for (const std::string_view name : names) asked.push_back({std::string(name), ask.binary});
  }
  for (const AskedOutput& output : asked) {
    if (std::find(names.begin(), names.end(), output.name) == names.end()) {
      fail_field("outputs", fmt::format("the model has no output {}", quote(output.name)));
    }
    if (output.classes > 0 && (output.name == "label" || !model.config)) {
      fail_field("outputs", fmt::format("{} has no classes", quote(output.name)));
    }
  }
  return asked;
}

}  // namespace

InferBody write_infer(const InferModel& model, const InferAsk& ask,
                      std::span<const infer::Answer> answers) {
  std::string json = "{";
  append_field(json, "model_name", model.name);
  append_field(json, "model_version", model.version);
  if (!ask.id.empty()) append_field(json, "id", ask.id);
  json += ",\"outputs\":[";
  std::string bytes;
  bool binary = false;
  bool first = true;
  for (const AskedOutput& output : asked_outputs(model, ask)) {
    OutputTensor tensor = make_tensor(model, output.name, answers);
    if (output.classes > 0) tensor = best_classes(model, std::move(tensor), output.classes);
    if (!first) json += ',';
    append_tensor(tensor, output.binary, json, bytes);
    binary = binary || output.binary;
    first = false;
  }
  json += "]}";
  InferBody out;
  if (binary) out.header_bytes = json.size();
  out.body = std::move(json) + bytes;
  return out;
}

std::string write_model_metadata(const InferModel& model) {
  std::string out = "{";
  append_field(out, "name", model.name);
  out += ",\"versions\":[";
  append_json(out, model.version);
  out +=
      "],\"platform\":\"hone\",\"inputs\":["
      R"({"name":"text","datatype":"BYTES","shape":[-1]},)"
      R"({"name":"text_pair","datatype":"BYTES","shape":[-1],"parameters":{"optional":true}}],)"
      "\"outputs\":[";
  const auto labels = model.config ? static_cast<int64_t>(model.config->labels.size()) : 0;
  bool first = true;
  for (const std::string_view name : output_names(model)) {
    const bool text = name == "label";
    const std::string shape =
        text ? "[-1]" : fmt::format("[-1,{}]", model.config ? labels : model.width);
    out += fmt::format("{}{{\"name\":\"{}\",\"datatype\":\"{}\",\"shape\":{}}}", first ? "" : ",",
                       name, text ? "BYTES" : "FP32", shape);
    first = false;
  }
  return out + "]}";
}

}  // namespace hone::serve

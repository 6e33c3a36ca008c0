#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"
#include "serve/errors.h"
#include "serve/wire_kserve.h"

namespace hone::serve {
namespace {

constexpr int64_t kMostElements = 1 << 24;
constexpr size_t kLongestId = 1024;

/// The texts of one input tensor; they point into the body.
struct TextTensor {
  std::string name;
  std::vector<std::string_view> texts;
};

size_t header_length(std::string_view given, size_t body) {
  size_t length = 0;
  const auto [stop, error] = std::from_chars(given.data(), given.data() + given.size(), length);
  if (error != std::errc() || stop != given.data() + given.size() || length > body) {
    throw RequestError(Failure::validation,
                       fmt::format("Inference-Header-Content-Length: expected at most the body's "
                                   "{} bytes, got {}",
                                   body, quote(given)));
  }
  return length;
}

/// Elements of a tensor; a shape of one dimension, or of two the second of which is 1.
int64_t count_elements(const RequestFields& tensor) {
  std::vector<int64_t> shape;
  read_list(tensor.at("shape"), tensor.path_of("shape"),
            [&](const JsonValue& element, const std::string& place) {
              shape.push_back(read_integer(element, place, 0, kMostElements));
            });
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] != 1)) {
    fail_field(tensor.path_of("shape"), "expected [n] or [n, 1]");
  }
  return shape[0];
}

/// Elements of 4 bytes of length, little-endian, and the text.
void cut_bytes(std::string_view bytes, int64_t elements, const std::string& path,
               std::vector<std::string_view>& out) {
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (bytes.size() < sizeof length) fail_field(path, "bytes that are no whole element");
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.remove_prefix(sizeof length);
    if (length > bytes.size()) fail_field(path, "an element that is longer than its tensor");
    out.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
    if (static_cast<int64_t>(out.size()) > elements) break;
  }
  if (static_cast<int64_t>(out.size()) != elements) {
    fail_field(path, fmt::format("expected {} elements as its shape says", elements));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!is_valid_utf8(out[i])) fail_field(fmt::format("{}[{}]", path, i), "not UTF-8");
  }
}

TextTensor read_tensor(const JsonValue& value, const std::string& path, std::string_view& bytes) {
  const RequestFields fields(value, path);
  TextTensor tensor{std::string(fields.text("name")), {}};
  if (fields.text("datatype") != "BYTES") {
    fail_field(fields.path_of("datatype"), "expected BYTES, the datatype of texts");
  }
  const int64_t elements = count_elements(fields);
  std::optional<int64_t> binary;
  if (const auto given = fields.find("parameters")) {
    const RequestFields parameters(*given, fields.path_of("parameters"));
    binary = parameters.integer_if("binary_data_size", 0, std::numeric_limits<int64_t>::max());
  }
  if (binary) {
    const std::string place = fields.path_of("parameters.binary_data_size");
    if (static_cast<uint64_t>(*binary) > bytes.size()) {
      fail_field(place, fmt::format("{} bytes, but the body has {}", *binary, bytes.size()));
    }
    cut_bytes(bytes.substr(0, static_cast<size_t>(*binary)), elements, path, tensor.texts);
    bytes.remove_prefix(static_cast<size_t>(*binary));
    return tensor;
  }
  const std::string place = fields.path_of("data");
  const auto take = [&](const JsonValue& element, const std::string& where) {
    if (!element.is_array()) return tensor.texts.push_back(read_text(element, where));
    read_list(element, where, [&](const JsonValue& inner, const std::string& deep) {
      tensor.texts.push_back(read_text(inner, deep));
    });
  };
  read_list(fields.at("data"), place, take);
  if (static_cast<int64_t>(tensor.texts.size()) != elements) {
    fail_field(place, fmt::format("expected {} elements as `shape` says, got {}", elements,
                                  tensor.texts.size()));
  }
  return tensor;
}

void read_outputs(const RequestFields& fields, InferAsk& ask) {
  if (const auto given = fields.find("parameters")) {
    ask.binary = RequestFields(*given, "parameters").boolean("binary_data_output", false);
  }
  const auto outputs = fields.find("outputs");
  if (!outputs) return;
  read_list(*outputs, "outputs", [&](const JsonValue& element, const std::string& path) {
    const RequestFields output(element, path);
    AskedOutput asked{std::string(output.text("name"))};
    asked.binary = ask.binary;
    if (const auto given = output.find("parameters")) {
      const RequestFields parameters(*given, output.path_of("parameters"));
      asked.binary = parameters.boolean("binary_data", asked.binary);
      asked.classes = parameters.integer_if("classification", 0, kMostElements).value_or(0);
    }
    ask.outputs.push_back(std::move(asked));
  });
}

void add_inputs(const std::vector<TextTensor>& tensors, WorkReader& reader) {
  const TextTensor* text = nullptr;
  const TextTensor* pair = nullptr;
  for (const TextTensor& tensor : tensors) {
    (tensor.name == "text_pair" ? pair : text) = &tensor;
  }
  const size_t wanted = pair ? 2 : 1;
  if (!text || tensors.size() != wanted) {
    fail_field("inputs", "expected one tensor, `text`, and perhaps a second one, `text_pair`");
  }
  if (pair && pair->texts.size() != text->texts.size()) {
    fail_field("inputs", "`text` and `text_pair` have different numbers of elements");
  }
  for (size_t i = 0; i < text->texts.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", text->name, i);
    if (pair) {
      reader.add_pair(text->texts[i], pair->texts[i], place);
    } else {
      reader.add(text->texts[i], place);
    }
  }
}

}  // namespace

InferAsk read_infer(std::string_view body, std::optional<std::string_view> header_bytes,
                    const ReadLimits& limits) {
  const size_t header = header_bytes ? header_length(*header_bytes, body.size()) : body.size();
  const JsonBody json(body.substr(0, header));
  std::string_view bytes = body.substr(header);
  const RequestFields fields(json.root());
  InferAsk ask;
  ask.id = fields.text_if("id").value_or("");
  if (ask.id.size() > kLongestId) fail_field("id", "too long");
  read_outputs(fields, ask);
  std::vector<TextTensor> tensors;
  read_list(fields.at("inputs"), "inputs", [&](const JsonValue& element, const std::string& path) {
    if (tensors.size() > 2) fail_field("inputs", "expected one or two tensors");
    tensors.push_back(read_tensor(element, path, bytes));
  });
  if (!bytes.empty()) {
    throw RequestError(Failure::validation,
                       fmt::format("body: {} bytes behind the last tensor", bytes.size()));
  }
  WorkReader reader(limits.body_bytes, limits.inputs);
  add_inputs(tensors, reader);
  ask.work = reader.take("inputs");
  return ask;
}

}  // namespace hone::serve

#include "io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "io/tensor_check.h"

namespace hone::io {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
constexpr size_t kMaxDims = 16;

std::optional<DType> dtype_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DType>, 10> kNames = {
      {{"F64", DType::f64},
       {"F32", DType::f32},
       {"F16", DType::f16},
       {"BF16", DType::bf16},
       {"I64", DType::i64},
       {"I32", DType::i32},
       {"I16", DType::i16},
       {"I8", DType::i8},
       {"U8", DType::u8},
       {"BOOL", DType::boolean}}};
  for (const auto& [text, dtype] : kNames) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

/// Takes the header's JSON event by event: a document tree of a hostile 100 MB header would need
/// twenty times that, and would hide names that occur twice.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const std::string& file, Metadata& metadata) : file_(file), metadata_(metadata) {}

  std::vector<TensorInfo> take() { return std::move(tensors_); }
  /// Gives the data_offsets of each tensor of take().
  const std::vector<std::pair<uint64_t, uint64_t>>& ranges() const { return ranges_; }

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { refuse(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(text); }
  bool binary(binary_t&) override { refuse("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (at_ == At::shape && value <= INT64_MAX && shape_.size() < kMaxDims) {
      shape_.push_back(static_cast<int64_t>(value));
    } else if (at_ == At::offsets && offsets_.size() < 2) {
      offsets_.push_back(value);
    } else {
      refuse(std::to_string(value));
    }
    return true;
  }

  bool string(string_t& value) override {
    if (at_ == At::metadata && field_) {
      metadata_[*std::exchange(field_, std::nullopt)] = std::move(value);
    } else if (at_ == At::tensor && field_ == "dtype") {
      dtype_ = dtype_of(value);
      if (!dtype_) {
        fail(ErrorKind::unsupported, "{}: {}: dtype {} is not supported", file_, quote(name_),
             quote(value));
      }
      field_.reset();
    } else {
      refuse(quote(value));
    }
    return true;
  }

  bool key(string_t& value) override {
    if (at_ == At::top) {
      name_ = std::move(value);
      if (!names_.insert(name_).second) {
        fail(ErrorKind::bad_file, "{}: {} is declared twice", file_, quote(name_));
      }
    } else {
      field_ = std::move(value);
      const bool again = (field_ == "dtype" && dtype_) || (field_ == "shape" && has_shape_) ||
                         (field_ == "data_offsets" && !offsets_.empty());
      if (at_ == At::tensor && again) {
        fail(ErrorKind::bad_file, "{}: {}: {} is given twice", file_, quote(name_), *field_);
      }
    }
    return true;
  }

  bool start_object(size_t) override {
    if (at_ == At::start) {
      at_ = At::top;
    } else if (at_ == At::top) {
      at_ = name_ == "__metadata__" ? At::metadata : At::tensor;
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (at_ == At::tensor) add_tensor();
    at_ = at_ == At::top ? At::done : At::top;
    return true;
  }

  bool start_array(size_t) override {
    if (at_ == At::tensor && field_ == "shape") {
      at_ = At::shape;
      has_shape_ = true;
    } else if (at_ == At::tensor && field_ == "data_offsets") {
      at_ = At::offsets;
    } else {
      refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    at_ = At::tensor;
    field_.reset();
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(ErrorKind::bad_file, "{}: header is not valid JSON at byte {}", file_, position);
  }

 private:
  enum class At { start, top, metadata, tensor, shape, offsets, done };

  [[noreturn]] void refuse(std::string_view value) const {
    if (at_ == At::start) {
      fail(ErrorKind::bad_file, "{}: header: expected an object, got {}", file_, value);
    }
    fail(ErrorKind::bad_file, "{}: header: {}{}{}: unexpected value {}", file_, quote(name_),
         field_ ? ": " : "", field_ ? quote(*field_) : "", value);
  }

  void add_tensor() {
    if (!dtype_ || !has_shape_ || offsets_.size() != 2) {
      fail(ErrorKind::bad_file, "{}: {}: needs a dtype, a shape and two data_offsets", file_,
           quote(name_));
    }
    check_tensor_name(name_, file_);
    const std::optional<int64_t> elements = count_elements(shape_);
    if (!elements) fail(ErrorKind::bad_file, "{}: {}: shape is too large", file_, quote(name_));
    const uint64_t bytes = static_cast<uint64_t>(*elements) * dtype_size(*dtype_);
    if (offsets_[0] > offsets_[1] || offsets_[1] - offsets_[0] != bytes) {
      fail(ErrorKind::bad_file,
           "{}: {}: data_offsets [{}, {}] do not span the {} bytes of its shape", file_,
           quote(name_), offsets_[0], offsets_[1], bytes);
    }
    tensors_.push_back({name_, *dtype_, std::move(shape_), *elements, {0, offsets_[0], {}}});
    ranges_.emplace_back(offsets_[0], offsets_[1]);
    dtype_.reset();
    shape_.clear();
    offsets_.clear();
    has_shape_ = false;
    field_.reset();
  }

  const std::string& file_;
  Metadata& metadata_;
  At at_ = At::start;
  std::string name_;
  std::optional<std::string> field_;
  std::optional<DType> dtype_;
  bool has_shape_ = false;
  std::vector<int64_t> shape_;
  std::vector<uint64_t> offsets_;
  std::unordered_set<std::string> names_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
};

/// The tensors must cover the data exactly: an overlap or a hole is a lie about some tensor.
void check_ranges(std::vector<std::pair<uint64_t, uint64_t>> ranges, uint64_t data_bytes,
                  const std::string& file) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (end > data_bytes) {
      fail(ErrorKind::bad_file, "{}: a tensor's data ends at byte {}, the file's data at byte {}",
           file, end, data_bytes);
    }
    if (begin != covered) {
      fail(ErrorKind::bad_file,
           "{}: {} in the data at byte {}: a tensor ends at {}, the next begins at {}", file,
           begin < covered ? "overlap" : "hole", std::min(begin, covered), covered, begin);
    }
    covered = end;
  }
  if (covered != data_bytes) {
    fail(ErrorKind::bad_file, "{}: {} bytes of data belong to no tensor", file,
         data_bytes - covered);
  }
}

}  // namespace

std::vector<TensorInfo> read_safetensors_header(const InputFile& file, Metadata& metadata) {
  uint64_t length = 0;  // little-endian, as every machine that hone runs on
  if (file.size() < sizeof length) {
    fail(ErrorKind::bad_file, "{}: {} bytes, too short for safetensors", file.path(), file.size());
  }
  file.read(0, &length, sizeof length);
  if (length > kMaxHeader || length > file.size() - sizeof length) {
    fail(ErrorKind::bad_file, "{}: header length {} exceeds {}", file.path(), length,
         length > kMaxHeader ? "the limit of 100 MB" : "the file");
  }
  std::string header(length, '\0');
  file.read(sizeof length, header.data(), length);
  // The JSON parser takes a NUL for the end of its input and would ignore what follows.
  if (const size_t nul = header.find('\0'); nul != std::string::npos) {
    fail(ErrorKind::bad_file, "{}: header has a NUL at byte {}", file.path(), nul);
  }
  HeaderReader reader(file.path(), metadata);
  nlohmann::json::sax_parse(header, &reader);
  const uint64_t data = sizeof length + length;
  check_ranges(reader.ranges(), file.size() - data, file.path());
  std::vector<TensorInfo> tensors = reader.take();
  for (TensorInfo& tensor : tensors) tensor.place.offset += data;
  return tensors;
}

}  // namespace hone::io

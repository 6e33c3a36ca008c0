#include "kernels/cuda/tuning.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "device/cuda.h"
#include "kernels/cuda/api.h"

namespace hone::kernels::cuda {
namespace {

constexpr std::array<const char*, 3> kKinds = {"forward", "input_gradient", "weight_gradient"};
constexpr std::array<DType, 4> kDTypes = {DType::f32, DType::bf16, DType::f16, DType::f8};
constexpr int64_t kLargest = int64_t{1} << 40;

uint64_t library_version() {
  uint64_t version = 0;
  const char* path = "";
  cuda_check(kernel_api().product_library(&version, &path), "cuBLASLt");
  return version;
}

/// Gives the name of the first device that can be used, which all share in a run.
const std::string& device_name() { return cuda_info().devices.front().name; }

Json to_json(const TunedProduct& tuned) {
  const ProductShape& s = tuned.shape;
  Json words = Json::array();
  for (const uint64_t word : tuned.algorithm.words) words.push_back(fmt::format("{:016x}", word));
  return {{"kind", kKinds[static_cast<size_t>(s.kind)]},
          {"dtype", dtype_name(s.dtype)},
          {"out", dtype_name(s.out)},
          {"add", s.add},
          {"bias", s.bias},
          {"tf32", s.tf32},
          {"m", s.m},
          {"n", s.n},
          {"k", s.k},
          {"lda", s.lda},
          {"ldb", s.ldb},
          {"ldc", s.ldc},
          {"algorithm", words},
          {"workspace_bytes", tuned.algorithm.workspace_bytes},
          {"microseconds", tuned.algorithm.microseconds}};
}

DType dtype_of(const JsonFields& fields, const char* field) {
  const std::string name = fields.string(field);
  for (const DType dtype : kDTypes) {
    if (dtype_name(dtype) == name) return dtype;
  }
  fields.fail_field(field, "is not fp32, bf16, fp16 or fp8");
}

void read_words(const JsonFields& fields, uint64_t (&words)[8]) {
  const Json& list = fields.at("algorithm");
  if (!list.is_array() || list.size() != 8) fields.fail_field("algorithm", "is not 8 words");
  for (size_t i = 0; i < 8; ++i) {
    const std::string text = list[i].is_string() ? list[i].get<std::string>() : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), words[i], 16);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
      fields.fail_field("algorithm", "has a word that is not hexadecimal");
    }
  }
}

TunedProduct from_json(const JsonFields& fields) {
  TunedProduct tuned = {};
  ProductShape& s = tuned.shape;
  const std::string kind = fields.string("kind");
  size_t index = 0;
  while (index < kKinds.size() && kind != kKinds[index]) ++index;
  if (index == kKinds.size()) fields.fail_field("kind", "is not a kind of product");
  s.kind = static_cast<ProductKind>(index);
  s.dtype = dtype_of(fields, "dtype");
  s.out = dtype_of(fields, "out");
  s.add = fields.boolean("add");
  s.bias = fields.boolean("bias");
  s.tf32 = fields.boolean("tf32");
  s.m = fields.integer("m", 1, kLargest);
  s.n = fields.integer("n", 1, kLargest);
  s.k = fields.integer("k", 1, kLargest);
  s.lda = fields.integer("lda", 1, kLargest);
  s.ldb = fields.integer("ldb", 1, kLargest);
  s.ldc = fields.integer("ldc", 1, kLargest);
  read_words(fields, tuned.algorithm.words);
  tuned.algorithm.workspace_bytes =
      static_cast<uint64_t>(fields.integer("workspace_bytes", 0, kLargest));
  tuned.algorithm.microseconds = static_cast<float>(fields.number("microseconds"));
  return tuned;
}

}  // namespace

void save_tuning(const std::string& path) {
  Json products = Json::array();
  TunedProduct tuned = {};
  for (int64_t i = 0; !kernel_api().product_tuned(i, &tuned); ++i) {
    products.push_back(to_json(tuned));
  }
  const Json file = {
      {"device", device_name()}, {"cublaslt", library_version()}, {"products", products}};
  write_file(path, file.dump(1));
}

std::string load_tuning(const std::string& path) {
  const Json file = parse_json(read_file(path), path);
  const JsonFields fields(file, path);
  const std::string device = fields.string("device");
  const int64_t version = fields.integer("cublaslt", 0, kLargest);
  const Json& products = fields.at("products");
  if (!products.is_array()) fields.fail_field("products", "is not a list");
  std::vector<TunedProduct> all;
  for (const Json& product : products) all.push_back(from_json(JsonFields(product, path)));
  if (cuda_info().devices.empty()) return "there is no GPU";
  if (device != device_name()) return fmt::format("it was made on {}", quote(device));
  if (static_cast<uint64_t>(version) != library_version()) {
    return fmt::format("it was made with cuBLASLt {}, this is {}", version, library_version());
  }
  for (const TunedProduct& tuned : all) {
    if (const Status refused = kernel_api().product_restore(tuned)) return refused;
  }
  return "";
}

}  // namespace hone::kernels::cuda

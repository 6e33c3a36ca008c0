// Files made by torch and safetensors (tests/parity/io_goldens.py) are read to the same values.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "io/convert.h"
#include "io/weights.h"
#include "scratch.h"

namespace hone::io {
namespace {

const std::string kGoldens = HONE_TEST_DIR "/goldens/";

Json expected(const std::string& name) { return parse_json(bytes_of(kGoldens + name), name); }

std::vector<uint32_t> read_bits(const Weights& weights, const TensorInfo& tensor, int64_t first,
                                int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  weights.read(tensor, first, count, values.data());
  std::vector<uint32_t> bits(values.size());
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = std::bit_cast<uint32_t>(values[i]);
  return bits;
}

/// NaNs made alike: converters differ in the payload they leave.
std::vector<uint32_t> comparable(std::vector<uint32_t> bits) {
  for (uint32_t& word : bits) {
    if ((word & 0x7fffffffu) > 0x7f800000u) word = 0x7fc00000u;
  }
  return bits;
}

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  const Json all = expected("expected.json");
  for (const auto& [name, tensors] : all.items()) names.push_back(name);
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, NamesShapesAndValues) {
  const auto weights = Weights::open(kGoldens + GetParam());
  const Json all = expected("expected.json");
  const Json& tensors = all.at(GetParam());
  ASSERT_EQ(weights->tensors().size(), tensors.size());
  for (const auto& [name, wanted] : tensors.items()) {
    SCOPED_TRACE(name);
    const TensorInfo* tensor = weights->find(name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(dtype_name(tensor->dtype), wanted.at("dtype").get<std::string>());
    EXPECT_EQ(tensor->shape, wanted.at("shape").get<std::vector<int64_t>>());
    const auto bits = wanted.at("bits").get<std::vector<uint32_t>>();
    ASSERT_EQ(tensor->elements, std::ssize(bits));
    EXPECT_EQ(comparable(read_bits(*weights, *tensor, 0, tensor->elements)), comparable(bits));
  }
}

TEST_P(Golden, EveryPart) {
  const auto weights = Weights::open(kGoldens + GetParam());
  for (const TensorInfo& tensor : weights->tensors()) {
    const std::vector<uint32_t> all = read_bits(*weights, tensor, 0, tensor.elements);
    for (int64_t first = 0; first <= tensor.elements; ++first) {
      for (int64_t count = 0; count <= tensor.elements - first; count += 1 + count / 3) {
        const std::vector<uint32_t> wanted(all.begin() + first, all.begin() + first + count);
        ASSERT_EQ(read_bits(*weights, tensor, first, count), wanted)
            << tensor.name << " [" << first << ", +" << count << ")";
      }
    }
  }
}

TEST_P(Golden, RawBytesConvertToTheSameValues) {
  const auto weights = Weights::open(kGoldens + GetParam());
  for (const TensorInfo& tensor : weights->tensors()) {
    std::vector<double> raw(static_cast<size_t>(tensor.elements));  // large enough for any dtype
    weights->read_raw(tensor, 0, tensor.elements, raw.data());
    std::vector<float> values(raw.size());
    to_fp32(tensor.dtype, raw.data(), tensor.elements, values.data());
    std::vector<uint32_t> bits(raw.size());
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = std::bit_cast<uint32_t>(values[i]);
    EXPECT_EQ(bits, read_bits(*weights, tensor, 0, tensor.elements)) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

TEST(Weights, SortedAndFound) {
  const auto weights = Weights::open(kGoldens + "fp32.safetensors");
  std::vector<std::string> names;
  for (const TensorInfo& tensor : weights->tensors()) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "deep.name.0", "w"}));
  EXPECT_EQ(weights->find("a"), nullptr);
  EXPECT_EQ(weights->find("x"), nullptr);
  EXPECT_EQ(weights->metadata().at("made"), "by io_goldens");
  EXPECT_EQ(weights->file_of(*weights->find("w")), kGoldens + "fp32.safetensors");
}

TEST(Weights, RangesAreChecked) {
  const auto weights = Weights::open(kGoldens + "fp32.safetensors");
  const TensorInfo& tensor = *weights->find("b");
  std::vector<float> out(8);
  EXPECT_THROW(weights->read(tensor, 0, 8, out.data()), Error);
  EXPECT_THROW(weights->read(tensor, -1, 2, out.data()), Error);
  EXPECT_THROW(weights->read(tensor, 7, 1, out.data()), Error);
  EXPECT_THROW(weights->read(tensor, INT64_MAX, INT64_MAX, out.data()), Error);
}

/// Hash of io_goldens.py.
uint64_t fnv(const std::vector<uint32_t>& words) {
  uint64_t value = 0xcbf29ce484222325u;
  for (const uint32_t word : words) value = (value ^ word) * 0x100000001b3u;
  return value;
}

TEST(Weights, PublishedLegacyCheckpoints) {
  const char* set = std::getenv("HONE_DATA");
  const std::string data = set ? set : HONE_TEST_DIR "/../../../shared/data";
  const Json all = expected("expected_data.json");
  for (const auto& [file, tensors] : all.items()) {
    const std::string path = data + "/" + file;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    const auto weights = Weights::open(path);
    ASSERT_EQ(weights->tensors().size(), tensors.size());
    for (const auto& [name, wanted] : tensors.items()) {
      const TensorInfo* tensor = weights->find(name);
      ASSERT_NE(tensor, nullptr) << name;
      EXPECT_EQ(tensor->shape, wanted.at("shape").get<std::vector<int64_t>>());
      EXPECT_EQ(fnv(read_bits(*weights, *tensor, 0, tensor->elements)),
                wanted.at("hash").get<uint64_t>())
          << name;
    }
  }
}

}  // namespace
}  // namespace hone::io

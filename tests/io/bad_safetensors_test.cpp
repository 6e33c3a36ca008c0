// Every lie that a safetensors file or an index can tell is an error that names it.
#include <gtest/gtest.h>

#include "io/weights.h"
#include "scratch.h"

namespace hone::io {
namespace {

std::string safetensors(const std::string& header, size_t data_bytes) {
  return le(uint64_t{header.size()}) + header + std::string(data_bytes, 'x');
}

struct SafetensorsCase {
  std::string name;
  std::string bytes;
  std::string message;  ///< part of the error
  friend void PrintTo(const SafetensorsCase& test, std::ostream* out) { *out << test.name; }
};

std::string entry(const std::string& name, const std::string& offsets,
                  const std::string& shape = "[2]", const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

std::vector<SafetensorsCase> cases() {
  const std::string a = entry("a", "[0,8]");
  return {
      {"Empty", "", "0 bytes, too short"},
      {"Short", "1234567", "7 bytes, too short"},
      {"FourGigabytes", le(uint64_t{1} << 32) + std::string(1016, '{'), "header length 4294967296"},
      {"LengthOverflows", le(~uint64_t{0}) + "{}", "header length 18446744073709551615"},
      {"LengthBeyondFile", le(uint64_t{3}) + "{}", "header length 3 exceeds the file"},
      {"NoHeader", le(uint64_t{0}), "not valid JSON"},
      {"NotJson", safetensors("{\"a\":", 0), "not valid JSON at byte"},
      {"NotUtf8", safetensors("{\"\xff\":{}}", 0), "not valid JSON at byte"},
      {"Array", safetensors("[]", 0), "expected an object, got an array"},
      {"Trailing", safetensors("{}{}", 0), "not valid JSON at byte"},
      {"HiddenByNul", safetensors(std::string("{}\0junk", 7), 0), "NUL at byte 2"},
      {"Number", safetensors("{\"a\":3}", 0), "'a': unexpected value 3"},
      {"Null", safetensors("{\"a\":null}", 0), "'a': unexpected value null"},
      {"Deep", safetensors("{\"a\":" + std::string(100000, '['), 0), "unexpected value an array"},
      {"NoDtype", safetensors("{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8),
       "needs a dtype"},
      {"NoShape", safetensors("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8),
       "needs a dtype"},
      {"NoOffsets", safetensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8), "needs a dtype"},
      {"OneOffset", safetensors("{" + entry("a", "[8]") + "}", 8), "two data_offsets"},
      {"ThreeOffsets", safetensors("{" + entry("a", "[0,8,8]") + "}", 8), "unexpected value 8"},
      {"UnknownField", safetensors("{\"a\":{\"dtypo\":\"F32\"}}", 8), "'dtypo': unexpected value"},
      {"FieldTwice", safetensors("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 8),
       "dtype is given twice"},
      {"Float8", safetensors("{" + entry("a", "[0,2]", "[2]", "F8_E4M3") + "}", 2),
       "dtype 'F8_E4M3' is not supported"},
      {"NegativeShape", safetensors("{" + entry("a", "[0,8]", "[-2]") + "}", 8),
       "unexpected value -2"},
      {"FractionShape", safetensors("{" + entry("a", "[0,8]", "[2.0]") + "}", 8),
       "unexpected value 2.0"},
      {"HugeShape", safetensors("{" + entry("a", "[0,8]", "[4294967296,4294967296]") + "}", 8),
       "shape is too large"},
      {"HugeWithZero", safetensors("{" + entry("a", "[0,0]", "[4294967296,4294967296,0]") + "}", 0),
       "shape is too large"},
      {"WrapsToSmall", safetensors("{" + entry("a", "[0,0]", "[4611686018427387904,4]") + "}", 0),
       "shape is too large"},
      {"ManyDims",
       safetensors("{" + entry("a", "[0,4]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]") + "}", 4),
       "unexpected value 1"},
      {"Reversed", safetensors("{" + entry("a", "[8,0]") + "}", 8), "[8, 0] do not span"},
      {"TooSmall", safetensors("{" + entry("a", "[0,4]") + "}", 4), "do not span the 8 bytes"},
      {"TooLarge", safetensors("{" + entry("a", "[0,12]") + "}", 12), "do not span the 8 bytes"},
      {"Truncated", safetensors("{" + a + "}", 7), "ends at byte 8, the file's data at byte 7"},
      {"FarAway",
       safetensors("{" + entry("a", "[18446744073709551600,18446744073709551608]") + "}", 8),
       "the file's data at byte 8"},
      {"Overlap", safetensors("{" + a + "," + entry("b", "[4,12]") + "}", 12),
       "overlap in the data at byte 4"},
      {"SamePlace", safetensors("{" + a + "," + entry("b", "[0,8]") + "}", 8),
       "overlap in the data at byte 0"},
      {"Hole", safetensors("{" + a + "," + entry("b", "[12,20]") + "}", 20),
       "hole in the data at byte 8"},
      {"HoleFirst", safetensors("{" + entry("a", "[8,16]") + "}", 16),
       "hole in the data at byte 0"},
      {"Leftover", safetensors("{" + a + "}", 9), "1 bytes of data belong to no tensor"},
      {"NameTwice", safetensors("{" + a + "," + entry("a", "[8,16]") + "}", 16),
       "'a' is declared twice"},
      {"EmptyName", safetensors("{" + entry("", "[0,8]") + "}", 8), "empty name"},
      {"NulName", safetensors("{" + entry("a\\u0000b", "[0,8]") + "}", 8), "not printable text"},
      {"LineName", safetensors("{" + entry("a\\nb", "[0,8]") + "}", 8), "not printable text"},
      {"MetadataNotText", safetensors("{\"__metadata__\":{\"a\":1}}", 0),
       "'a': unexpected value 1"},
      {"MetadataNested", safetensors("{\"__metadata__\":{\"a\":{}}}", 0),
       "unexpected value an object"},
  };
}

class BadSafetensors : public testing::TestWithParam<SafetensorsCase> {};

TEST_P(BadSafetensors, IsRefused) {
  const Scratch scratch;
  const std::string path = scratch.write("model.safetensors", GetParam().bytes);
  const std::string message = error_of([&] { Weights::open(path); });
  EXPECT_EQ(message.find(path), 0u) << message;
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Files, BadSafetensors, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Safetensors, EveryTruncationIsRefused) {
  const Scratch scratch;
  const std::string path =
      scratch.write("m.safetensors", bytes_of(HONE_TEST_DIR "/goldens/fp16.safetensors"));
  for (uintmax_t size = std::filesystem::file_size(path); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    ASSERT_THROW(Weights::open(path), Error) << size;
  }
}

TEST(Safetensors, NoTensorsIsFine) {
  const Scratch scratch;
  const std::string path = scratch.write("m.safetensors", safetensors("{}      ", 0));
  EXPECT_TRUE(Weights::open(path)->tensors().empty());
}

TEST(Safetensors, ShrunkAfterOpening) {
  const Scratch scratch;
  const std::string path =
      scratch.write("m.safetensors", safetensors("{" + entry("a", "[0,8]") + "}", 8));
  const auto weights = Weights::open(path);
  std::filesystem::resize_file(path, 10);
  float out[2];
  EXPECT_THROW(weights->read(weights->tensors()[0], 0, 2, out), Error);
}

TEST(Index, FilesOutsideTheFolderAreRefused) {
  const Scratch scratch;
  scratch.write("x.safetensors", safetensors("{" + entry("a", "[0,8]") + "}", 8));
  for (const std::string file :
       {"../x.safetensors", "/etc/passwd", "..", ".", "", "sub/x.safetensors"}) {
    scratch.write("folder/model.safetensors.index.json",
                  "{\"weight_map\":{\"a\":\"" + file + "\"}}");
    const std::string message = error_of([&] { Weights::open(scratch / "folder"); });
    EXPECT_NE(message.find("expected the name of a file in the folder"), std::string::npos)
        << message;
  }
}

TEST(Index, Lies) {
  const std::string index = "model.safetensors.index.json";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"{\"weight_map\":{\"a\":\"one\",\"b\":\"gone\"}}", "shard 'gone' is missing"},
      {"{\"weight_map\":{\"a\":\"one\",\"c\":\"one\"}}", "'c' is not in 'one'"},
      {"{\"weight_map\":{\"a\":\"two\",\"b\":\"one\"}}", "'a' is not in 'two'"},
      {"{\"weight_map\":{\"a\":\"one\",\"b\":\"copy\"}}", "is also in"},
      {"{\"weight_map\":{\"a\":7}}", "got '7'"},
      {"{\"weight_map\":[]}", "weight_map: expected an object"},
      {"{}", "weight_map: missing"},
      {"[", "not valid JSON"}};
  for (const auto& [text, wanted] : table) {
    const Scratch scratch;
    scratch.write("one", safetensors("{" + entry("a", "[0,8]") + "}", 8));
    scratch.write("two", safetensors("{" + entry("b", "[0,8]") + "}", 8));
    scratch.write("copy", safetensors("{" + entry("a", "[0,8]") + "}", 8));
    scratch.write(index, text);
    const std::string message = error_of([&] { Weights::open(scratch.path()); });
    EXPECT_NE(message.find(wanted), std::string::npos) << text << "\n" << message;
  }
}

TEST(Weights, NothingToOpen) {
  const Scratch scratch;
  EXPECT_NE(error_of([&] { Weights::open(scratch.path()); }).find("no weights: looked for"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Weights::open(scratch / "gone"); }).find("cannot open"),
            std::string::npos);
  const std::string path = scratch.write("pytorch_model.bin", "just some text, for that matter");
  EXPECT_NE(error_of([&] { Weights::open(path); }).find("neither safetensors nor a file of torch"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::io

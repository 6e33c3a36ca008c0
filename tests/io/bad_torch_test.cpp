// Torch files that lie, and pickles that ask for more than tensors.
#include <gtest/gtest.h>

#include "io/weights.h"
#include "scratch.h"
#include "torch_bytes.h"

namespace hone::io {
namespace {

using namespace torch_bytes;

std::string open_error(const std::string& bytes) {
  static const Scratch scratch;
  const std::string path = scratch.write("pytorch_model.bin", bytes);
  const std::string message = error_of([&] { Weights::open(path); });
  if (message == "no error") return message;
  EXPECT_EQ(message.find(path), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

/// A zip file with this pickle and one storage "0" of `storage` bytes.
std::string archive(const std::string& pickle, size_t storage = 16) {
  return zip({{"a/data.pkl", pickle}, {"a/data/0", std::string(storage, '\1')}});
}

struct TorchCase {
  std::string name;
  std::string bytes;
  std::string message;
  friend void PrintTo(const TorchCase& test, std::ostream* out) { *out << test.name; }
};

std::vector<TorchCase> pickles() {
  const std::string good = tensor(storage("FloatStorage", 4), 0, {2, 2}, {2, 1});
  const auto state = [](const std::string& value) { return pickle(dict({{"w", value}})); };
  const std::string memo_tuple = "(" + integer(1) + integer(1) + "t";
  return {
      {"Good", archive(state(good)), "no error"},
      {"System", archive(pickle("cposix\nsystem\n" + text("true") + "\x85R")),
       "asks for 'posix.system'"},
      {"Builtin", archive(pickle("cbuiltins\neval\n" + text("1") + "\x85R")),
       "asks for 'builtins.eval'"},
      {"StackGlobal", archive(pickle(text("os") + text("system") + "\x93")),
       "asks for 'os.system'"},
      {"TorchLoad", archive(pickle("ctorch.storage\n_load_from_bytes\n")),
       "asks for 'torch.storage._load_from_bytes'"},
      {"Complex", archive(state(tensor(storage("ComplexFloatStorage", 4), 0, {4}, {1}))),
       "asks for 'torch.ComplexFloatStorage'"},
      {"DottedGlobal", archive(pickle("ccollections.OrderedDict\n__init__\n")),
       "asks for 'collections.OrderedDict.__init__'"},
      {"NewObject", archive(pickle("ccollections\nOrderedDict\n)\x81")), "opcode 0x81"},
      {"TextProtocol", archive("\x80\x01N."), "protocol 1 is not supported"},
      {"Opcode", archive(pickle("\xff")), "opcode 0xff"},
      {"NoStop", archive("\x80\x02N"), "ends too early"},
      {"Nothing", archive(pickle("")), "ends without one value"},
      {"Underflow", archive(pickle("0")), "more values than it has"},
      {"Fence", archive(pickle("N(0")), "more values than it has"},
      {"FenceOfSetItem", archive(pickle("}N(Ns")), "more values than it has"},
      {"NoMark", archive(pickle("t")), "not begun"},
      {"OddDict", archive(pickle("}(Nu")), "key without a value"},
      {"AppendToInt", archive(pickle(integer(1) + integer(2) + "a")), "not a container"},
      {"UnknownMemo", archive(pickle("h\5")), "memo slot 5 was never set"},
      {"FarMemo", archive(pickle("Nr" + le(uint32_t{0xffffffff}))),
       "memo slot 4294967295 cannot be set"},
      {"LongText", archive(pickle("X" + le(uint32_t{0xffffffff}))), "ends too early"},
      {"LongerText", archive(pickle("\x8d" + le(~uint64_t{0}))), "ends too early"},
      {"LongFrame", archive(pickle("\x95" + le(~uint64_t{0}))), "frame exceeds"},
      {"LongGlobal", archive(pickle("c" + std::string(1000, 'a'))), "name is too long"},
      {"JustANumber", archive(pickle(integer(3))), "no dict of tensors"},
      {"NoTensors", archive(pickle(dict({{"a", integer(3)}}))), "no dict of tensors"},
      {"TwoDicts", archive(pickle(dict({{"a", dict({{"w", good}})}, {"b", dict({{"w", good}})}}))),
       "several dicts of tensors"},
      {"SelfReference", archive(pickle("}q\1" + text("a") + "h\1s")), "no dict of tensors"},
      {"NumberAsKey", archive(pickle("}" + integer(1) + good + "s")), "key is not text"},
      {"NameTwice", archive(pickle(dict({{"w", good}, {"w", good}}))), "'w' occurs twice"},
      {"NameWithNewline", archive(pickle(dict({{"w\n", good}}))), "not printable"},
      {"NameNotUtf8", archive(pickle(dict({{"\xc3", good}}))), "not printable"},
      {"LongName", archive(pickle(dict({{std::string(2000, 'n'), good}}))), "longer than 1024"},
      {"MissingStorage", zip({{"a/data.pkl", state(good)}}), "'a/data/0' is missing"},
      {"ShortStorage", archive(state(good), 12), "a storage of 4 elements has 3"},
      {"LyingStorage", archive(state(tensor(storage("FloatStorage", 1 << 30), 0, {1 << 30}, {1}))),
       "a storage of 1073741824 elements has 4"},
      {"BeyondStorage", archive(state(tensor(storage("FloatStorage", 4), 1, {2, 2}, {2, 1}))),
       "beyond its storage"},
      {"NegativeOffset", archive(state(tensor(storage("FloatStorage", 4), -1, {2}, {1}))),
       "beyond its storage"},
      {"NegativeStride", archive(state(tensor(storage("FloatStorage", 4), 3, {2}, {-1}))),
       "malformed shape"},
      {"NegativeSize", archive(state(tensor(storage("FloatStorage", 4), 0, {-2, -2}, {2, 1}))),
       "malformed shape"},
      {"StrideOverflow",
       archive(state(tensor(storage("FloatStorage", 4), 0, {5}, {INT64_MAX / 2}))),
       "beyond its storage"},
      {"OffsetOverflow", archive(state(tensor(storage("FloatStorage", 4), INT64_MAX, {2}, {1}))),
       "beyond its storage"},
      {"SizeOverflow",
       archive(state(tensor(storage("FloatStorage", 4), 0, {1LL << 40, 1LL << 40}, {0, 0}))),
       "malformed shape"},
      {"Expanded", archive(state(tensor(storage("FloatStorage", 4), 0, {1 << 30}, {0}))),
       "an expanded view of 1073741824"},
      {"RankMismatch", archive(state(tensor(storage("FloatStorage", 4), 0, {2, 2}, {1}))),
       "malformed shape"},
      {"ManyDims",
       archive(state(tensor(storage("FloatStorage", 4), 0, std::vector<int64_t>(40, 1),
                            std::vector<int64_t>(40, 1)))),
       "malformed shape"},
      {"ManyDimsEmpty",
       archive(state(tensor(storage("FloatStorage", 4), 0, {0, 1LL << 62, 1LL << 62}, {1, 1, 1}))),
       "no error"},
      {"StorageView",
       archive(state(tensor(storage("FloatStorage", 4, "0", memo_tuple), 0, {2}, {1}))),
       "is a view of another"},
      {"BadStorage", archive(pickle(text("storage") + "\x85Q")), "storage is malformed"},
      {"StorageOfDict",
       archive(pickle("(" + text("storage") + "ccollections\nOrderedDict\n" + text("0") +
                      text("cpu") + integer(4) + "tQ")),
       "storage is malformed"},
      {"TensorOfNothing", archive(pickle("ctorch._utils\n_rebuild_tensor_v2\n)R")),
       "tensor is malformed"},
      {"ParameterOfNothing", archive(pickle("ctorch._utils\n_rebuild_parameter\n)R")),
       "parameter is malformed"},
      {"CallOfStorage", archive(pickle("ctorch\nFloatStorage\n)R")), "storage type is called"},
      {"CallOfNumber", archive(pickle(integer(1) + ")R")), "call is malformed"},
      {"BuildOfTensor", archive(pickle(good + "}b")), "not a container"},
      {"ManySteps", archive(pickle("}" + std::string(3'000'000, 'N'))), "more than 2000000 steps"},
  };
}

std::vector<TorchCase> containers() {
  const std::string good =
      archive(pickle(dict({{"w", tensor(storage("FloatStorage", 4), 0, {4}, {1})}})));
  const std::string data = pickle(dict({{"w", tensor(storage("FloatStorage", 4), 0, {4}, {1})}}));
  const std::vector<Entry> entries = {{"a/data.pkl", data}, {"a/data/0", std::string(16, '\1')}};
  auto with = [&](Entry entry) {
    std::vector<Entry> all = entries;
    all.push_back(std::move(entry));
    return zip(all);
  };
  std::vector<Entry> compressed = entries;
  compressed[1].method = 8;
  std::vector<Entry> outside = entries;
  outside[1].claimed_size = 1 << 20;
  std::vector<Entry> huge = entries;
  huge[1].claimed_size = uint64_t{1} << 62;
  std::vector<Entry> wide = entries;
  wide[0].zip64 = wide[1].zip64 = true;
  std::string no_local = good;
  no_local[0] = 'Q';
  return {
      {"Zip64", zip(wide), "no error"},
      {"Little", with({"a/byteorder", "little"}), "no error"},
      {"Big", with({"a/byteorder", "big"}), "byteorder 'big' is not supported"},
      {"EntryTwice", with({"a/data/0", ""}), "'a/data/0' occurs twice"},
      {"Compressed", zip(compressed), "compressed or encrypted"},
      {"Outside", zip(outside), "lies outside the data"},
      {"Huge", zip(huge), "lies outside the data"},
      {"NoPickle", zip({{"a/other", ""}}), "without data.pkl"},
      {"PickleTooDeep", zip({{"a/b/data.pkl", data}}), "without data.pkl"},
      {"NoEntries", "PK\3\4" + zip({}), "without data.pkl"},
      {"OnlyMagic", "PK\3\4     ", "without a directory"},
      {"FarDirectory", "PK\3\4" + end_record(100, 1 << 30), "does not fit the file"},
      {"NoDirectory", "PK\3\4" + end_record(20, 4), "damaged"},
      {"FarDirectory64", "PK\3\4" + end_records64(~uint64_t{0}, 50), "does not fit the file"},
      {"WrappingDirectory64", "PK\3\4" + end_records64(~uint64_t{0} - 10, 20),
       "does not fit the file"},
      {"TarPickle", "\x80\x02K\x01.         ", "not one of torch.save"},
      {"LegacyVersion", legacy_head(7), "version 7"},
      {"LegacyBigEndian", legacy_head(1001, false), "big-endian"},
  };
}

class BadTorch : public testing::TestWithParam<TorchCase> {};

TEST_P(BadTorch, IsRefused) {
  const std::string message = open_error(GetParam().bytes);
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

const auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Pickles, BadTorch, testing::ValuesIn(pickles()), kName);
INSTANTIATE_TEST_SUITE_P(Containers, BadTorch, testing::ValuesIn(containers()), kName);

TEST(TorchFile, LegacyLies) {
  const std::string dict_of_one =
      pickle(dict({{"w", tensor(storage("FloatStorage", 2), 0, {2}, {1})}}));
  const std::string head = legacy_head(1001) + dict_of_one;
  const std::string keys = pickle("]" + text("0") + "a");
  EXPECT_EQ(open_error(head + keys + le(int64_t{2}) + std::string(8, '\1')), "no error");
  const std::vector<std::pair<std::string, std::string>> table = {
      {keys + le(int64_t{2}) + "1234567", "storage '0' of 2 elements exceeds the file"},
      {keys + le(int64_t{-1}), "storage '0' of -1 elements exceeds the file"},
      {keys + le(INT64_MAX) + "12345678", "exceeds the file"},
      {keys + le(int64_t{1}) + "1234", "a storage of 2 elements has 1"},
      {keys + "1234", "ends before storage '0'"},
      {pickle("]"), "storage '0' is missing"},
      {pickle("N"), "list of storages is malformed"},
      {pickle("](" + text("0") + text("0") + "e") + (le(int64_t{0}) + le(int64_t{0})),
       "'0' occurs twice"},
      {pickle("]" + text("1") + "a") + le(int64_t{0}), "'1' belongs to no tensor"},
      {"", "ends too early"}};
  for (const auto& [tail, wanted] : table) {
    const std::string message = open_error(head + tail);
    EXPECT_NE(message.find(wanted), std::string::npos) << message;
  }
}

TEST(TorchFile, OrderedDictOfPython2) {
  const std::string value = tensor(storage("FloatStorage", 4), 0, {4}, {1});
  const std::string pairs = "](](U\1w" + value + "ee";
  EXPECT_EQ(open_error(archive(pickle("ccollections\nOrderedDict\n" + pairs + "\x85R"))),
            "no error");
}

/// Reusing a large list must not multiply it.
TEST(TorchFile, RepeatedPairsAreCounted) {
  std::string list = "](";
  for (int i = 0; i < 10000; ++i) list += "NN\x86";
  std::string body = list + "eq" + std::string(1, '\0') + "0](";
  for (int i = 0; i < 10000; ++i)
    body += "ccollections\nOrderedDict\nh" + std::string(1, '\0') + "\x85R";
  EXPECT_NE(open_error(archive(pickle(body + "e"))).find("more than 2000000 steps"),
            std::string::npos);
}

TEST(TorchFile, EveryTruncationIsRefused) {
  const Scratch scratch;
  for (const char* golden : {"module.bin", "nested_legacy.pth"}) {
    const std::string path = scratch.write("m.bin", bytes_of(HONE_TEST_DIR "/goldens/"s + golden));
    for (uintmax_t size = std::filesystem::file_size(path); size-- > 0;) {
      std::filesystem::resize_file(path, size);
      ASSERT_THROW(Weights::open(path), Error) << golden << " cut to " << size;
    }
  }
}

}  // namespace
}  // namespace hone::io

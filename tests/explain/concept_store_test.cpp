#include "explain/concept_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "explain/concept_writer.h"
#include "explain/forged_store.h"

namespace hone::explain {
namespace {

namespace fs = std::filesystem;
using concept_format::Header;

constexpr data::Hash128 kModel = {7, 11};

class ConceptStoreTest : public testing::Test {
 protected:
  ConceptStoreTest()
      : folder_(fs::temp_directory_path() /
                ("hone_concepts_" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
                 std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    path_ = (folder_ / kConceptFile).string();
  }
  ~ConceptStoreTest() override { fs::remove_all(folder_); }

  /// Three concepts of width 5 and two labels; "good film" comes three times, twice of one row.
  static ConceptSet three_concepts() {
    ConceptSet set(5, 2);
    const float a[5] = {1, 2, 3, 4, 5}, b[5] = {3, 2, 1, 0, -1}, c[5] = {-1, 0.25f, 0, 0, 9};
    set.add("good film", a, 1, 4);
    set.add("a dull plot", c, 0, 2);
    set.add("good film", b, 0, 0);
    set.add("good film", 1, 4);
    set.add("d\xc3\xa9j\xc3\xa0 vu", b, -1, 9);
    return set;
  }
  void write(DType dtype = DType::f32, bool centred = false, std::vector<float> biases = {}) {
    const ConceptSet set = three_concepts();
    SearchVectors vectors = search_vectors(set, centred);
    vectors.biases = std::move(biases);
    write_concept_store(path_, set, {kModel, dtype, vectors});
  }
  /// Rewrites the file, with a right hash, after `change`.
  void forge(const std::function<void(std::string&)>& change) { forge_store(path_, change); }
  /// Gives what opening the store fails with, less the path.
  std::string refusal() {
    try {
      const ConceptStore store(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      const std::string what = error.what();
      EXPECT_EQ(what.rfind(path_ + ": ", 0), 0u) << what;
      return what.substr(path_.size() + 2);
    }
    return "opened";
  }
  template <typename T>
  static void put(std::string& bytes, size_t at, T value) {
    ASSERT_LE(at + sizeof value, bytes.size());
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  concept_format::Sections sections() const {
    Header header;
    InputFile(path_).read(0, &header, sizeof header);
    return *concept_format::layout(header, 1 << 20);
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(ConceptStoreTest, MergesByText) {
  write();
  const ConceptStore store(path_);
  ASSERT_EQ(store.size(), 3);
  EXPECT_EQ(store.text(0), "good film");
  EXPECT_EQ(store.text(1), "a dull plot");
  EXPECT_EQ(store.text(2), "d\xc3\xa9j\xc3\xa0 vu");
  const auto as_vector = [](auto span) { return std::vector<uint32_t>(span.begin(), span.end()); };
  EXPECT_EQ(as_vector(store.label_counts(0)), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(as_vector(store.label_counts(1)), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(as_vector(store.label_counts(2)), (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(as_vector(store.source_rows(0)), (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(as_vector(store.source_rows(2)), (std::vector<uint32_t>{9}));
  std::vector<float> vector(5);
  store.model_vector(0, vector.data());
  EXPECT_EQ(vector, (std::vector<float>{2, 2, 2, 2, 2}));
  EXPECT_FALSE(store.centred());
  EXPECT_EQ(store.rows().biases, nullptr);
}

TEST_F(ConceptStoreTest, ConceptsOfRows) {
  const RowConcepts rows(three_concepts());
  const auto of = [&](int64_t row) {
    const auto span = rows.of(row);
    return std::vector<int32_t>(span.begin(), span.end());
  };
  EXPECT_EQ(of(0), std::vector<int32_t>{0});
  EXPECT_EQ(of(4), std::vector<int32_t>{0});
  EXPECT_EQ(of(9), std::vector<int32_t>{2});
  EXPECT_TRUE(of(1).empty());
  EXPECT_TRUE(of(10).empty());
  EXPECT_TRUE(of(-1).empty());
}

TEST_F(ConceptStoreTest, LowPrecisionStaysNear) {
  for (const DType dtype : {DType::bf16, DType::u8}) {
    write(dtype);
    const ConceptStore store(path_);
    std::vector<float> vector(5);
    store.model_vector(1, vector.data());
    const std::vector<float> wanted = {-1, 0.25f, 0, 0, 9};
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(vector[i], wanted[i], 0.04) << i;
  }
}

TEST_F(ConceptStoreTest, CentringIsUndone) {
  write(DType::f32, true, {0.5f, -1, 2});
  const ConceptStore store(path_);
  ASSERT_TRUE(store.centred());
  EXPECT_FLOAT_EQ(store.mean()[0], (2.0f - 1 + 3) / 3);
  std::vector<float> vector(5);
  read_row(store.rows(), 1, vector.data());
  double squares = 0;
  for (const float x : vector) squares += double{x} * double{x};
  EXPECT_NEAR(squares, 1, 1e-6);
  const float raw[5] = {-1, 0.25f, 0, 0, 9};
  std::vector<float> query(5);
  store.prepare_query(raw, query.data());
  EXPECT_EQ(query, vector);
  store.model_vector(1, vector.data());
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(vector[i], raw[i], 1e-5);
  EXPECT_EQ(store.rows().biases[1], -1);
}

TEST_F(ConceptStoreTest, GivesBackTheVectorsThatATrainerSearches) {
  write(DType::f32, true, {0.5f, -1, 2});
  const SearchVectors vectors = search_vectors(ConceptStore(path_));
  EXPECT_EQ(vectors.biases, (std::vector<float>{0.5f, -1, 2}));
  EXPECT_EQ(vectors.rows().biases, vectors.biases.data());
  write();
  EXPECT_EQ(search_vectors(ConceptStore(path_)).rows().biases, nullptr);
}

TEST_F(ConceptStoreTest, DtypesHaveTheNamesThatUsersKnow) {
  EXPECT_EQ(parse_store_dtype("fp32"), DType::f32);
  EXPECT_EQ(parse_store_dtype("bf16"), DType::bf16);
  EXPECT_EQ(parse_store_dtype("int8"), DType::u8);
  EXPECT_THROW(parse_store_dtype("fp16"), Error);
}

TEST_F(ConceptStoreTest, RefusesAnotherModelsStore) {
  write();
  const ConceptStore store(path_);
  store.require(kModel, 5, 2);
  const auto problem = [&](data::Hash128 model, int64_t width, int64_t labels) {
    try {
      store.require(model, width, labels);
    } catch (const Error& error) {
      return std::string(error.what()).substr(path_.size() + 2);
    }
    return std::string();
  };
  EXPECT_EQ(problem(kModel, 384, 2), "width: its vectors have 5 values, the model's have 384");
  EXPECT_EQ(problem(kModel, 5, 3), "labels: it counts 2, the model has 3");
  EXPECT_EQ(problem({7, 12}, 5, 2).rfind("model: it was made by another model (", 0), 0u);
}

TEST_F(ConceptStoreTest, EveryDamagedByteIsFound) {
  write(DType::bf16, true, {0, 0, 1});
  const std::string whole = read_file(path_);
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write_file(path_, bytes);
    EXPECT_NE(refusal(), "opened") << at;
  }
  for (const size_t size : {size_t{0}, size_t{8}, sizeof(Header), whole.size() - 1}) {
    write_file(path_, whole.substr(0, size));
    EXPECT_NE(refusal(), "opened") << size;
  }
  write_file(path_, whole + "x");
  EXPECT_EQ(refusal(), "size: not that of its concepts");
}

TEST_F(ConceptStoreTest, ForgedNumbersAreRefused) {
  const auto with = [&](size_t at, auto value, DType dtype = DType::f32, bool centred = false) {
    write(dtype, centred);
    forge([&](std::string& bytes) { put(bytes, at, value); });
    return refusal();
  };
  write();
  const auto at = sections();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(with(0, 'X'), "magic: not a concept store");
  EXPECT_EQ(with(offsetof(Header, version), 9u), "version: of another version of hone");
  EXPECT_EQ(with(offsetof(Header, dtype), 3u), "dtype: unknown");
  EXPECT_EQ(with(offsetof(Header, flags), 4u), "flags: unknown");
  EXPECT_EQ(with(offsetof(Header, width), 0u), "width: out of range");
  EXPECT_EQ(with(offsetof(Header, width), ~0u), "width: out of range");
  EXPECT_EQ(with(offsetof(Header, concepts), uint64_t{0}), "concepts: the store is empty");
  const std::string too_much = "size: less than its concepts need";
  EXPECT_EQ(with(offsetof(Header, concepts), ~uint64_t{0}), too_much);
  EXPECT_EQ(with(offsetof(Header, concepts), uint64_t{1} << 30), too_much);
  EXPECT_EQ(with(offsetof(Header, labels), ~0u), too_much);
  EXPECT_EQ(with(offsetof(Header, rows), uint64_t{1} << 62), too_much);
  EXPECT_EQ(with(offsetof(Header, text_bytes), ~uint64_t{0}), too_much);
  EXPECT_EQ(with(at.vectors, nan), "vectors: a value that is not finite");
  EXPECT_EQ(with(at.vectors + 15 * sizeof(float), nan), "vectors: a value that is not finite");
  EXPECT_EQ(with(at.vectors, uint16_t{0x7f80}, DType::bf16), "vectors: a value that is not finite");
  EXPECT_EQ(with(at.row_begins + 8, ~uint64_t{0}), "rows: their places are out of order");
  EXPECT_EQ(with(at.row_begins, uint64_t{1}), "rows: their places are out of order");
  EXPECT_EQ(with(at.source_rows, 4u), "rows: out of order");
  EXPECT_EQ(with(at.text_begins + 16, uint64_t{1}), "texts: their places are out of order");
  EXPECT_EQ(with(at.texts, '\xff'), "texts: not UTF-8");
  write(DType::u8, true);
  const auto int8 = sections();
  EXPECT_EQ(with(int8.scales, nan, DType::u8, true), "scales: one is not finite");
  EXPECT_EQ(with(int8.mean, nan, DType::u8, true), "mean: a value that is not finite");
  EXPECT_EQ(with(int8.norms, nan, DType::u8, true), "norms: one is not finite");
}

TEST_F(ConceptStoreTest, NothingToStoreAndNoNumbers) {
  const ConceptSet empty(5, 2);
  const SearchVectors none = search_vectors(empty, true);
  EXPECT_THROW(write_concept_store(path_, empty, {kModel, DType::f32, none}), Error);
  EXPECT_FALSE(fs::exists(path_));
  ConceptSet bad(1, 0);
  const float inf = std::numeric_limits<float>::infinity();
  bad.add("endless", &inf, -1, 0);
  try {
    search_vectors(bad, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "concepts: the vector of 'endless' has a value that is not finite");
  }
}

}  // namespace
}  // namespace hone::explain

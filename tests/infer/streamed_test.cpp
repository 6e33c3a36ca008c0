// Weights that come and go give the bits of weights that stay.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "infer/memory_budget.h"
#include "infer/nine_sequences.h"
#include "infer/session.h"
#include "infer/watched_source.h"
#include "models/convert.h"

namespace hone::infer {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone at the end.
class Packed {
 public:
  Packed(const std::string& model, DType dtype, std::vector<std::string> kept = {})
      : path_(testing::TempDir() + "streamed_" + std::to_string(::getpid())) {
    fs::remove_all(path_);
    models::ConvertOptions options;
    options.dtype = dtype;
    options.kept = std::move(kept);
    options.stream = true;
    models::convert_folder(kModels + model, path_, options);
  }
  ~Packed() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string file() const { return path_ + "/" + models::kPackedName; }

 private:
  std::string path_;
};

std::vector<float> rows_of(const float* rows, const models::TextBatch& batch, int64_t width) {
  return {rows, rows + batch.sequences() * width};
}

std::vector<float> run(LayerwiseForward& layerwise, const models::TextBatch& batch) {
  std::vector<float> rows;
  LayerwiseForward::Hooks hooks;
  hooks.finish = [&](int64_t, std::span<const float> row) {
    rows.insert(rows.end(), row.begin(), row.end());
  };
  layerwise.run(batch, hooks);
  return rows;
}

struct StreamedCase {
  const char* model;
  DType dtype;
};

class Streamed : public testing::TestWithParam<StreamedCase> {
 protected:
  /// Runs twice by a source with room for so many bytes of matrices.
  void expect_bits(Session& session, std::unique_ptr<WeightSource> source, uint64_t room,
                   bool huge_pages) {
    const models::TextBatch batch = nine_sequences(session.config());
    const std::vector<float> whole = rows_of(session.forward(batch), batch, session.output_width());
    StreamedWeights weights(session.model(), session.pass(), std::move(source), session.pool());
    LayerwiseForward layerwise(session.model(), {}, weights, session.pool());
    weights.load(layerwise.matrices(), room, huge_pages, batch.tokens());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(layerwise, batch), whole) << i;
    if (room > 0) return;
    for (const int32_t slot : layerwise.matrices()) {
      EXPECT_EQ(weights.pointers()[static_cast<size_t>(slot)], nullptr) << slot;
    }
  }
};

TEST_P(Streamed, FromAPackedFileHasTheBitsOfTheWhole) {
  const auto& [name, dtype] = GetParam();
  const Packed packed(name, dtype);
  Session session(kModels + name, {.dtype = dtype, .threads = 2});
  for (const uint64_t room : {uint64_t{0}, uint64_t{40'000}, uint64_t{1} << 30}) {
    for (const bool huge_pages : {false, true}) {
      auto file = std::make_unique<models::PackedFile>(packed.file());
      file->check(session.model());
      expect_bits(session, packed_source(std::move(file)), room, huge_pages);
    }
  }
}

TEST_P(Streamed, FromACheckpointHasTheBitsOfTheWhole) {
  const auto& [name, dtype] = GetParam();
  Session session(kModels + name, {.dtype = dtype, .threads = 2});
  models::LoadReport report;
  for (const uint64_t room : {uint64_t{0}, uint64_t{40'000}}) {
    expect_bits(session,
                checkpoint_source(session.model(), io::Weights::open(session.folder().path),
                                  nullptr, report),
                room, false);
  }
}

TEST_P(Streamed, APackedFolderAnswersWithAndWithoutABudget) {
  const auto& [name, dtype] = GetParam();
  const Packed packed(name, dtype);
  Session plain(kModels + name, {.dtype = dtype, .threads = 2});
  const models::TextBatch batch = nine_sequences(plain.config());
  const std::vector<float> wanted = rows_of(plain.forward(batch), batch, plain.output_width());
  for (const uint64_t budget : {uint64_t{0}, uint64_t{4} << 30}) {
    SessionOptions options;
    options.threads = 2;
    options.memory_budget = budget;
    Session session(packed.path(), options);
    EXPECT_EQ(session.model().dtype(), dtype);
    EXPECT_EQ(rows_of(session.forward(batch), batch, session.output_width()), wanted) << budget;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Streamed,
                         testing::Values(StreamedCase{"bert-words", DType::f32},
                                         StreamedCase{"bert-words", DType::bf16},
                                         StreamedCase{"bert-words", DType::i8},
                                         StreamedCase{"roberta-regression", DType::f32},
                                         StreamedCase{"roberta-regression", DType::i8},
                                         StreamedCase{"albert-groups", DType::f32},
                                         StreamedCase{"albert-groups", DType::bf16},
                                         StreamedCase{"albert-groups", DType::i8}),
                         [](const auto& test) {
                           std::string text = test.param.model;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text + "_" + std::string(dtype_name(test.param.dtype));
                         });

TEST(StreamedWeights, ATooSmallBudgetNamesTheLeastWhichDoes) {
  SessionOptions options;
  options.threads = 1;
  options.memory_budget = 1'000'000;
  try {
    const Session session(kModels + "bert-words", options);
    FAIL() << "a budget of 1 MB was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("the least is "), std::string::npos) << error.what();
  }
}

/// A file that does not say what it said is an error, or is not looked at.
void expect_error_or(const std::string& folder, const models::TextBatch& batch,
                     const std::vector<float>& wanted, size_t& errors) {
  for (const uint64_t budget : {uint64_t{0}, uint64_t{4} << 30}) {
    SessionOptions options;
    options.threads = 1;
    options.memory_budget = budget;
    try {
      Session session(folder, options);
      EXPECT_EQ(rows_of(session.forward(batch), batch, session.output_width()), wanted);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(models::kPackedName), std::string::npos)
          << error.what();
      ++errors;
    }
  }
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The order that reading from cold storage is fast by.
TEST(PackedFile, HasTablesThenVectorsThenMatrices) {
  const Packed packed("bert-words", DType::f32);
  const std::string whole = bytes_of(packed.file());
  const std::string index = whole.substr(whole.rfind("{\"dtype\""));
  const Json slots = parse_json(index.substr(0, index.rfind('}') + 1), packed.file())["slots"];
  std::map<uint64_t, std::string> kinds;
  for (const Json& slot : slots) {
    const std::string is = slot["is"];
    kinds[slot["offset"]] = is.substr(0, is.find(' '));
  }
  std::vector<std::string> order;
  for (const auto& [offset, kind] : kinds) {
    if (order.empty() || order.back() != kind) order.push_back(kind);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"table", "vector", "matrix"}));
}

TEST(PackedFile, CutAnywhereIsRefused) {
  const Packed packed("bert-words", DType::i8);
  const std::string whole = bytes_of(packed.file());
  Session session(packed.path(), {.threads = 1});
  const models::TextBatch batch = nine_sequences(session.config());
  size_t errors = 0;
  size_t cuts = 0;
  for (size_t size = 0; size < whole.size(); size += whole.size() / 40 + 1, ++cuts) {
    write_bytes(packed.file(), whole.substr(0, size));
    expect_error_or(packed.path(), batch, {}, errors);
  }
  for (const size_t less : {1, 8, 31, 32, 33, 100}) {
    write_bytes(packed.file(), whole.substr(0, whole.size() - less));
    expect_error_or(packed.path(), batch, {}, errors);
    ++cuts;
  }
  EXPECT_EQ(errors, 2 * cuts);
}

TEST(PackedFile, AChangedByteIsAnErrorOrChangesNothing) {
  for (const DType dtype : {DType::f32, DType::i8}) {
    const Packed packed("bert-words", dtype);
    const std::string whole = bytes_of(packed.file());
    Session session(packed.path(), {.threads = 1});
    const models::TextBatch batch = nine_sequences(session.config());
    const std::vector<float> wanted =
        rows_of(session.forward(batch), batch, session.output_width());
    size_t errors = 0;
    for (size_t i = 0; i < 150; ++i) {
      // Half of them in the index and the trailer.
      const size_t tail = std::min<size_t>(whole.size(), 8000);
      const size_t at =
          i % 2 ? (i * 7919 * 131) % whole.size() : whole.size() - 1 - (i * 53) % tail;
      std::string spoilt = whole;
      spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << (i % 8)));
      write_bytes(packed.file(), spoilt);
      expect_error_or(packed.path(), batch, wanted, errors);
    }
    EXPECT_GT(errors, 150u);
  }
}

class Spoilt : public testing::TestWithParam<bool> {};

TEST_P(Spoilt, WhileItStreamsIsAnErrorOfTheFile) {
  const Packed packed("bert-words", DType::f32);
  Session session(packed.path(), {.threads = 2});
  auto file = std::make_unique<models::PackedFile>(packed.file());
  file->check(session.model());
  const models::TextBatch batch = nine_sequences(session.config());
  bool spoil = false;
  const auto watch = [&](const nn::Parameter&) {
    if (!std::exchange(spoil, false)) return;
    if (GetParam()) {
      fs::resize_file(packed.file(), 4096);
    } else {
      const size_t size = fs::file_size(packed.file());
      std::fstream out(packed.file(), std::ios::binary | std::ios::in | std::ios::out);
      out.write(std::string(size, 'x').data(), static_cast<std::streamsize>(size));
    }
  };
  StreamedWeights weights(session.model(), session.pass(),
                          std::make_unique<WatchedSource>(packed_source(std::move(file)), watch),
                          session.pool());
  LayerwiseForward layerwise(session.model(), {}, weights, session.pool());
  weights.load(layerwise.matrices(), 0, true, batch.tokens());
  run(layerwise, batch);
  spoil = true;
  LayerwiseForward::Hooks hooks;
  hooks.finish = [](int64_t, std::span<const float>) { ADD_FAILURE() << "answered"; };
  try {
    layerwise.run(batch, hooks);
    FAIL() << "not seen";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find(packed.file()), std::string::npos) << error.what();
  }
}

TEST(CheckpointSource, WrittenToWhileItStreamsIsAnErrorOfTheFile) {
  const std::string folder = testing::TempDir() + "checkpoint_" + std::to_string(::getpid());
  fs::remove_all(folder);
  fs::copy(kModels + "bert-words", folder, fs::copy_options::recursive);
  SessionOptions options;
  options.threads = 1;
  options.memory_budget = uint64_t{4} << 30;
  Session session(folder, options);
  const models::TextBatch batch = nine_sequences(session.config());
  session.forward(batch);
  const std::string file = folder + "/model.safetensors";
  write_bytes(file, bytes_of(file));
  try {
    session.forward(batch);
    ADD_FAILURE() << "not seen";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(CutOrWritten, Spoilt, testing::Bool());

}  // namespace
}  // namespace hone::infer

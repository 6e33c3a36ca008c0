// Exits together with weights that come and go: the same answers, and nothing is read of layers
// that nobody reaches.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "infer/exiting_folder.h"
#include "infer/nine_sequences.h"
#include "infer/session.h"
#include "infer/watched_source.h"
#include "models/convert.h"

namespace hone::infer {
namespace {

namespace fs = std::filesystem;

struct ExitsStreamedCase {
  const char* golden;
  const char* method;
  DType dtype;
};

/// A folder of six layers with exits, and the same packed; gone at the end.
class Folders {
 public:
  explicit Folders(const ExitsStreamedCase& from)
      : path_(testing::TempDir() + "exits_streamed_" + std::to_string(::getpid())) {
    fs::remove_all(path_);
    write_exiting_folder(from.golden, from.method, {{"num_hidden_layers", 6}}, plain());
    models::ConvertOptions options;
    options.dtype = from.dtype;
    options.stream = true;
    models::convert_folder(plain(), packed(), options);
  }
  ~Folders() { fs::remove_all(path_); }
  std::string plain() const { return path_ + "/plain"; }
  std::string packed() const { return path_ + "/packed"; }

  std::unique_ptr<WeightSource> source(const models::Model& encoder) const {
    auto file = std::make_unique<models::PackedFile>(packed() + "/" + models::kPackedName);
    file->check(encoder);
    return packed_source(std::move(file));
  }

 private:
  std::string path_;
};

void expect_same(const std::vector<ExitAnswer>& answers, const std::vector<ExitAnswer>& wanted) {
  ASSERT_EQ(answers.size(), wanted.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].logits, wanted[i].logits) << i;
    EXPECT_EQ(answers[i].layers, wanted[i].layers) << i;
  }
}

class ExitsStreamed : public testing::TestWithParam<ExitsStreamedCase> {};

TEST_P(ExitsStreamed, HaveTheBitsAndLayersOfWeightsThatStay) {
  const Folders folders(GetParam());
  Session session(folders.plain(), {.dtype = GetParam().dtype, .threads = 2});
  const models::TextBatch batch = nine_sequences(session.config());
  models::ExitSettings settings = session.config().exits;
  // So that one leaves after three layers.
  settings.entropy = 1.001 * entropy(session.exits()->run_all(batch)[0][2]);
  settings.tolerance = 1;
  session.exits()->set(settings);
  const std::vector<ExitAnswer> wanted = session.exits()->run(batch);
  EXPECT_TRUE(std::any_of(wanted.begin(), wanted.end(),
                          [](const ExitAnswer& answer) { return answer.layers < 6; }));
  for (const uint64_t room : {uint64_t{0}, uint64_t{20'000}, uint64_t{1} << 30}) {
    StreamedWeights weights(session.model(), session.pass(), folders.source(session.model()),
                            session.pool());
    ExitPass pass(session.model(), settings, weights, session.pool());
    weights.load(pass.layerwise().matrices(), room, false, batch.tokens());
    for (int i = 0; i < 2; ++i) expect_same(pass.run(batch), wanted);
  }
}

TEST_P(ExitsStreamed, ASessionUnderABudgetAnswersAsOneWithout) {
  const Folders folders(GetParam());
  const std::vector<std::string> texts = {"the film is great", "the movie was not good", "a",
                                          "dull"};
  std::vector<Input> inputs;
  for (const std::string& text : texts) inputs.push_back({text, {}});
  Session free(folders.plain(), {.dtype = GetParam().dtype, .threads = 2});
  const std::vector<Answer> wanted = free.run(inputs);
  for (const std::string& folder : {folders.plain(), folders.packed()}) {
    SessionOptions options;
    options.dtype = GetParam().dtype;
    options.threads = 2;
    options.memory_budget = uint64_t{4} << 30;
    Session session(folder, options);
    const std::vector<Answer> answers = session.run(inputs);
    for (size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].values, wanted[i].values) << i;
      EXPECT_EQ(answers[i].layers, wanted[i].layers) << i;
    }
    // All layers too.
    const models::TextBatch batch = nine_sequences(session.config());
    const float* whole = free.forward(batch);
    const float* streamed = session.forward(batch);
    EXPECT_TRUE(std::equal(whole, whole + batch.sequences() * free.output_width(), streamed));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExitsStreamed,
                         testing::Values(ExitsStreamedCase{"bert-words", "pabee", DType::f32},
                                         ExitsStreamedCase{"bert-words", "pabee", DType::i8},
                                         ExitsStreamedCase{"bert-words", "deebert", DType::bf16},
                                         ExitsStreamedCase{"roberta-regression", "pabee",
                                                           DType::f32},
                                         ExitsStreamedCase{"albert-groups", "pabee", DType::i8},
                                         ExitsStreamedCase{"albert-groups", "deebert", DType::f32}),
                         [](const auto& test) {
                           std::string name = test.param.golden;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + test.param.method + "_" +
                                  std::string(dtype_name(test.param.dtype));
                         });

/// The matrices that are read for an answer after so many layers, without those that all share.
std::set<std::string> matrices_until(const models::Model& encoder, int64_t layers) {
  std::set<std::string> names;
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    if (parameter.kind != nn::ParameterKind::matrix) continue;
    for (int64_t i = 0; i < layers; ++i) {
      const std::string place = "." + std::to_string(i) + ".";
      if (parameter.tensors.front().find(place) != std::string::npos) {
        names.insert(parameter.tensors.front());
      }
    }
  }
  return names;
}

class ExitsRead : public testing::TestWithParam<const char*> {};

TEST_P(ExitsRead, OnlyTheLayersThatSomebodyReaches) {
  const Folders folders({"bert-words", GetParam(), DType::f32});
  Session session(folders.plain(), {.threads = 2});
  const models::Model& encoder = session.model();
  const models::TextBatch batch = nine_sequences(session.config());
  std::multiset<std::string> read;
  uint64_t bytes = 0;
  const auto watch = [&](const nn::Parameter& parameter) {
    read.insert(parameter.tensors.front());
    bytes += encoder.parameters().bytes_of(parameter);
  };
  StreamedWeights weights(encoder, session.pass(),
                          std::make_unique<WatchedSource>(folders.source(encoder), watch),
                          session.pool());
  ExitPass pass(encoder, session.config().exits, weights, session.pool());
  weights.load(pass.layerwise().matrices(), 0, false, batch.tokens());

  pass.layerwise().run(batch, {});
  const uint64_t whole = std::exchange(bytes, 0);
  models::ExitSettings settings = session.config().exits;
  settings.patience = 1;
  settings.entropy = 10;
  int64_t deepest = 0;
  read.clear();
  pass.set(settings);
  for (const ExitAnswer& answer : pass.run(batch)) deepest = std::max(deepest, answer.layers);
  ASSERT_LT(deepest, 6);
  std::multiset<std::string> wanted;
  for (const std::string& name : matrices_until(encoder, deepest)) wanted.insert(name);
  if (settings.method == models::ExitMethod::pabee) {
    for (int64_t i = 0; i < deepest; ++i) wanted.insert("pooler.dense.weight");
  }
  EXPECT_EQ(read, wanted);
  EXPECT_LT(bytes * 6, whole * static_cast<uint64_t>(deepest + 1));
}

INSTANTIATE_TEST_SUITE_P(Methods, ExitsRead, testing::Values("pabee", "deebert"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ExitsRead, ThePoolerThatAllShareStaysFirst) {
  const Folders folders({"bert-words", "pabee", DType::f32});
  Session session(folders.plain(), {.threads = 2});
  const models::TextBatch batch = nine_sequences(session.config());
  int poolers = 0;
  const auto watch = [&](const nn::Parameter& parameter) {
    poolers += parameter.tensors.front() == "pooler.dense.weight";
  };
  StreamedWeights weights(session.model(), session.pass(),
                          std::make_unique<WatchedSource>(folders.source(session.model()), watch),
                          session.pool());
  ExitPass pass(session.model(), session.config().exits, weights, session.pool());
  weights.load(pass.layerwise().matrices(), 4096, false, batch.tokens());
  for (int i = 0; i < 2; ++i) pass.layerwise().run(batch, {});
  EXPECT_EQ(weights.resident_matrices(), 1u);
  EXPECT_EQ(poolers, 1);
}

}  // namespace
}  // namespace hone::infer

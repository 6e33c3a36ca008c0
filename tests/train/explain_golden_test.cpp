// Logits and twenty training steps of a self-explaining head against PyTorch. The goldens are made
// by tests/parity/explain_goldens.py.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "models/concept_encoder.h"
#include "models/folder.h"
#include "models/load.h"
#include "optim/schedule.h"
#include "train/gpu_fixture.h"
#include "train/stepper.h"

namespace hone::train {
namespace {

/// A golden folder, and the model that it starts with.
struct SelfExplaining {
  explicit SelfExplaining(const std::string& name, const Target& target = chosen_isa())
      : folder(models::open_model_folder(HONE_TEST_DIR "/goldens/" + name)),
        golden(parse_json(read_file(folder.path + "/history.json"), "history.json")),
        model(models::make_model(*folder.config, {.target = target})),
        explainer(dynamic_cast<models::Explainer&>(*model)),
        // Any tokenizer will do: texts come as ids.
        tokenizer(text::Tokenizer::load(HONE_TEST_DIR "/../models/goldens/bert-words")),
        processor(std::move(tokenizer), {}, limits(), 64, "model") {
    models::load_weights(*model, *io::Weights::open(folder.path), pool);
    const Json& vectors = golden.at("concepts");
    explain::ConceptSet concepts(explainer.config().hidden_size, 2);
    for (size_t i = 0; i < vectors.size(); ++i) {
      const std::string text = "concept " + std::to_string(i);
      const auto vector = vectors.at(i).get<std::vector<float>>();
      for (const int64_t row : golden.at("rows").at(i)) concepts.add(text, vector.data(), 0, row);
    }
    auto own = std::make_shared<explain::RowConcepts>(concepts);
    explainer.set_concepts(std::make_shared<explain::Concepts>(
        explain::search_vectors(concepts, true), std::move(own), pool));
  }

  data::TextLimits limits() const {
    data::TextLimits made = explainer.config().limits();
    made.vocabulary = std::max<int64_t>(made.vocabulary, 100);
    return made;
  }

  void add(int64_t number, data::Batch& batch) const {
    const Json& text = golden.at("texts").at(static_cast<size_t>(number));
    const auto ids = text.at("ids").get<std::vector<int32_t>>();
    const auto leaves = text.at("leaves").get<std::vector<int32_t>>();
    std::vector<std::byte> sample(ids.size() * static_cast<size_t>(processor.unit_bytes()));
    std::memcpy(sample.data(), ids.data(), ids.size() * sizeof(int32_t));
    std::vector<std::pair<int32_t, int32_t>> phrases;
    for (const Json& phrase : text.at("phrases")) phrases.emplace_back(phrase.at(0), phrase.at(1));
    data::mark_constituents(leaves, phrases, sample);
    if (text.at("given").get<bool>()) {
      data::TreeMarks<std::byte>(sample).begins(static_cast<size_t>(leaves.front())) =
          data::kGivenMark;
    }
    processor.append(sample, number, batch);
    batch.classes.push_back(text.at("label").get<int32_t>());
  }

  ThreadPool pool{2};
  models::ModelFolder folder;
  Json golden;
  std::unique_ptr<models::Model> model;
  models::Explainer& explainer;
  text::Tokenizer tokenizer;
  data::ExplainProcessor processor;
};

class ExplainGolden : public testing::TestWithParam<const char*> {};

/// Compares logits with PyTorch's, one text at a time.
void compare_logits(SelfExplaining& golden, double tolerance) {
  const models::Pass pass = golden.model->record(models::OutputOptions{});
  Runner runner(pass.plan, golden.model->weights_for(pass.shadows), golden.pool, {});
  golden.model->parameters().refresh(golden.pool);
  const Json& wanted = golden.golden.at("logits");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!golden.golden.at("texts").at(i).at("given").get<bool>()) continue;
    data::Batch batch(golden.processor.layout());
    golden.add(static_cast<int64_t>(i), batch);
    runner.resize(batch.extents());
    pass.bind(batch, runner);
    runner.run();
    const auto* logits = runner.output<float>(pass.output);
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_NEAR(logits[c], wanted.at(i).at(c).get<float>(), tolerance) << "text " << i;
    }
  }
}

/// Trains twenty steps beside PyTorch; norms may be off by ten times as much as losses.
void compare_steps(SelfExplaining& golden, DType dtype, double tolerance) {
  const Json& history = golden.golden;
  const std::vector<bool> all(golden.model->parameters().list().size(), true);
  const auto optimizer = optim::Optimizer::make(golden.model->parameters(), all,
                                                {.eps = history.at("epsilon"),
                                                 .weight_decay = history.at("decay"),
                                                 .max_grad_norm = history.at("clip")});
  const optim::Schedule schedule{optim::ScheduleKind::linear, history.at("warmup"),
                                 history.at("steps")};
  Stepper stepper(*golden.model, {}, *optimizer, golden.pool, {.dtype = dtype});
  const Json& steps = history.at("history");
  for (size_t number = 0; number < steps.size(); ++number) {
    SCOPED_TRACE("step " + std::to_string(number));
    data::Batch batch(golden.processor.layout());
    for (const int64_t text : steps.at(number).at("texts")) golden.add(text, batch);
    StepState state;
    state.step = static_cast<int64_t>(number);
    state.count = static_cast<double>(batch.size());
    const double wanted = steps.at(number).at("loss");
    ASSERT_NEAR(stepper.accumulate(batch, state), wanted, tolerance * std::max(1., wanted));
    const double rate = history.at("rate").get<double>() * schedule.factor(state.step);
    const double norm = steps.at(number).at("grad_norm");
    ASSERT_NEAR(optimizer->step(rate, golden.pool).grad_norm, norm, 10 * tolerance * norm);
  }
}

TEST_P(ExplainGolden, LogitsArePyTorchs) {
  SelfExplaining golden(GetParam());
  compare_logits(golden, 1e-5);
}

TEST_P(ExplainGolden, FollowsPyTorchForTwentySteps) {
  SelfExplaining golden(GetParam());
  compare_steps(golden, DType::f32, 1e-5);
}

class ExplainGoldenGpu : public OnGpu<const char*> {};

TEST_P(ExplainGoldenGpu, LogitsArePyTorchs) {
  SelfExplaining golden(GetParam(), Target::cuda());
  compare_logits(golden, 1e-4);
}

TEST_P(ExplainGoldenGpu, FollowsPyTorchForTwentySteps) {
  SelfExplaining golden(GetParam(), Target::cuda());
  compare_steps(golden, DType::f32, 1e-4);
}

TEST_P(ExplainGoldenGpu, FollowsPyTorchInBf16) {
  SelfExplaining golden(GetParam(), Target::cuda());
  compare_steps(golden, DType::bf16, 6e-2);
}

INSTANTIATE_TEST_SUITE_P(Heads, ExplainGoldenGpu,
                         testing::Values("explain-bert", "explain-roberta"), [](const auto& test) {
                           return std::string(test.param).substr(std::strlen("explain-"));
                         });

INSTANTIATE_TEST_SUITE_P(Heads, ExplainGolden, testing::Values("explain-bert", "explain-roberta"),
                         [](const auto& test) {
                           return std::string(test.param).substr(std::strlen("explain-"));
                         });

}  // namespace
}  // namespace hone::train

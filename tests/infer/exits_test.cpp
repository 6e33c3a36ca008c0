#include "infer/exits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/cuda.h"
#include "io/scratch.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/folder.h"
#include "models/init.h"
#include "models/load.h"
#include "models/save.h"

namespace hone::infer {
namespace {

using models::ExitMethod;

/// The layer after which a rule leaves, from 1; 0 if it never does.
int64_t leaves_after(models::ExitSettings settings, ProblemType problem,
                     const std::vector<std::vector<float>>& layers) {
  ExitRule rule(settings, problem);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (rule.leaves(layers[i])) return static_cast<int64_t>(i) + 1;
  }
  return 0;
}

TEST(ExitRule, PatienceCountsAgreementsInARow) {
  const models::ExitSettings two{.method = ExitMethod::pabee, .patience = 2};
  EXPECT_EQ(leaves_after(two, ProblemType::single_label, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}), 3);
  EXPECT_EQ(leaves_after(two, ProblemType::single_label, {{1, 0}, {1, 0}, {0, 1}, {0, 1}, {0, 1}}),
            5);
  EXPECT_EQ(leaves_after(two, ProblemType::single_label, {{1, 0}, {0, 1}, {1, 0}, {0, 1}}), 0);
  const models::ExitSettings one{.method = ExitMethod::pabee, .patience = 1};
  EXPECT_EQ(leaves_after(one, ProblemType::single_label, {{1, 0}, {2, 0}}), 2);
}

TEST(ExitRule, RegressionAgreesWithinATolerance) {
  const models::ExitSettings settings{.method = ExitMethod::pabee, .patience = 2, .tolerance = 0.1};
  EXPECT_EQ(leaves_after(settings, ProblemType::regression, {{1.f}, {1.05f}, {1.08f}}), 3);
  EXPECT_EQ(leaves_after(settings, ProblemType::regression, {{1.f}, {1.2f}, {1.25f}}), 0);
}

TEST(ExitRule, EntropyIsInNats) {
  EXPECT_NEAR(entropy(std::vector<float>{0, 0}), std::log(2.), 1e-12);
  EXPECT_NEAR(entropy(std::vector<float>{3, 3, 3, 3}), std::log(4.), 1e-12);
  EXPECT_NEAR(entropy(std::vector<float>{1000, 0}), 0, 1e-12);
  const double p = 1 / (1 + std::exp(-2.));
  EXPECT_NEAR(entropy(std::vector<float>{2, 0}), -p * std::log(p) - (1 - p) * std::log(1 - p),
              1e-9);
  const models::ExitSettings settings{.method = ExitMethod::deebert, .entropy = 0.4};
  EXPECT_EQ(leaves_after(settings, ProblemType::single_label, {{0, 0}, {1, 0}, {2, 0}}), 3);
  const models::ExitSettings never{.method = ExitMethod::deebert, .entropy = 0};
  EXPECT_EQ(leaves_after(never, ProblemType::single_label, {{1000, 0}, {1000, 0}}), 0);
}

TEST(ExitRule, ConfidenceIsTheProbabilityThatTheLastColumnGives) {
  const auto last = [](double p) { return static_cast<float>(std::log(p / (1 - p))); };
  const models::ExitSettings settings{.method = ExitMethod::adaptive, .confidence = 0.8};
  EXPECT_EQ(leaves_after(settings, ProblemType::single_label,
                         {{9, 0, last(0.5)}, {9, 0, last(0.79)}, {0, 0, last(0.81)}}),
            3);
}

/// A random model of six layers with exits.
struct Exiting {
  Exiting(const std::string& family, ExitMethod method) {
    const std::string golden = HONE_TEST_DIR "/../models/goldens/" + family;
    config = dynamic_cast<const models::EncoderConfig&>(*models::open_model_folder(golden).config);
    config.layers = 6;
    config.layer_groups = config.layer_groups > 0 ? 1 : 0;
    config.exits.method = method;
    encoder = std::make_unique<models::Encoder>(config, DType::f32, chosen_isa(), true);
    models::init_random(*encoder, 3, 0.5f, pool);
  }
  /// Takes another's weights in another dtype, perhaps on a GPU.
  Exiting(const Exiting& other, DType dtype, const Target& target) : config(other.config) {
    const io::Scratch folder;
    models::save_weights(*other.encoder, folder.path());
    encoder = std::make_unique<models::Encoder>(config, dtype, target, true);
    models::load_weights(*encoder, *io::Weights::open(folder.path()), pool);
  }
  models::TextBatch batch(const std::vector<int32_t>& lengths) const {
    models::TextBatch made(config);
    for (const int32_t length : lengths) {
      std::vector<int32_t> ids;
      for (int32_t i = 0; i < length; ++i) ids.push_back(3 + (11 * length + 7 * i) % 20);
      made.add(ids);
    }
    return made;
  }

  ThreadPool pool{2};
  models::EncoderConfig config;
  std::unique_ptr<models::Encoder> encoder;
};

struct ExitFamilyCase {
  const char* family;
  ExitMethod method;
};

class ExitFamily : public testing::TestWithParam<ExitFamilyCase> {};

/// Sets a rule by which who gives these logits leaves, and not much else.
void leave_at(const std::vector<float>& logits, double slack, models::ExitSettings& settings) {
  settings.entropy = slack * entropy(logits);
  settings.confidence = 1 / (1 + std::exp(-double{logits.back()})) / slack;
}

/// The logits of labels, without what an adaptive exit gives beside them.
std::vector<float> answer_of(const std::vector<float>& row, const Exiting& model) {
  return {row.begin(), row.begin() + std::ssize(model.config.labels)};
}

/// Alone and together, by the rule and by all layers: logits to the bit, and the layers.
void expect_answers_of_the_rule(Exiting& model) {
  models::ExitSettings settings = model.config.exits;
  settings.patience = 1;
  settings.tolerance = 0.3;
  ExitPass pass(*model.encoder, settings, model.pool);
  const std::vector<int32_t> lengths = {1, 9, 2, 7, 3, 8, 5, 4, 6, 1, 9};
  const auto all = pass.run_all(model.batch(lengths));
  leave_at(all[0][2], 1.001, settings);
  pass.set(settings);
  const std::vector<ExitAnswer> together = pass.run(model.batch(lengths));
  bool some_leave = false;
  for (size_t i = 0; i < lengths.size(); ++i) {
    ASSERT_EQ(all[i].size(), 6 * static_cast<size_t>(model.config.layers_a_group));
    const std::vector<ExitAnswer> alone = pass.run(model.batch({lengths[i]}));
    EXPECT_EQ(alone[0].logits, together[i].logits) << i;
    EXPECT_EQ(alone[0].layers, together[i].layers) << i;
    ExitRule rule(settings, model.config.problem);
    size_t layer = 0;
    while (layer + 1 < all[i].size() && !rule.leaves(all[i][layer])) ++layer;
    EXPECT_EQ(together[i].layers, static_cast<int64_t>(layer) + 1) << i;
    EXPECT_EQ(together[i].logits, answer_of(all[i][layer], model)) << i;
    some_leave |= layer + 1 < all[i].size();
  }
  EXPECT_TRUE(some_leave);
}

TEST_P(ExitFamily, AnswersAreThoseOfTheRuleAndDoNotDependOnTheBatch) {
  Exiting model(GetParam().family, GetParam().method);
  expect_answers_of_the_rule(model);
}

TEST_P(ExitFamily, AnswersDoNotDependOnTheBatchInLowPrecision) {
  const Exiting wide(GetParam().family, GetParam().method);
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    for (const DType dtype : {DType::bf16, DType::i8}) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " " + std::string(dtype_name(dtype)));
      Exiting model(wide, dtype, isa);
      expect_answers_of_the_rule(model);
    }
  }
}

TEST_P(ExitFamily, ADeadlineIsTheLimit) {
  Exiting model(GetParam().family, GetParam().method);
  models::ExitSettings never = model.config.exits;
  never.patience = 100;
  never.entropy = 0;
  never.confidence = 1.1;
  ExitPass pass(*model.encoder, never, model.pool);
  const models::TextBatch batch = model.batch({4, 5});
  const auto all = pass.run_all(batch);
  const std::vector<ExitAnswer> hurried = pass.run(batch, 1e-9);
  for (size_t i = 0; i < hurried.size(); ++i) {
    EXPECT_EQ(hurried[i].layers, 1);
    EXPECT_EQ(hurried[i].logits, answer_of(all[i][0], model));
  }
  for (const ExitAnswer& answer : pass.run(batch, 1e6)) {
    EXPECT_EQ(answer.layers, static_cast<int64_t>(all[0].size()));
  }
}

/// Layers and logits of a batch, by a rule that some leave early.
TEST_P(ExitFamily, AGpuMakesTheDecisionsOfTheProcessor) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  Exiting model(GetParam().family, GetParam().method);
  Exiting on_gpu(model, DType::f32, Target::cuda());
  models::ExitSettings settings = model.config.exits;
  settings.patience = 1;
  settings.tolerance = 0.3;
  ExitPass cpu(*model.encoder, settings, model.pool);
  ExitPass gpu(*on_gpu.encoder, settings, on_gpu.pool);
  on_gpu.encoder->parameters().refresh(on_gpu.pool);
  const std::vector<int32_t> lengths = {1, 9, 2, 7, 3, 8, 5, 4, 6, 1, 9};
  const auto expect_near = [](const std::vector<float>& got, const std::vector<float>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_NEAR(got[k], wanted[k], 1e-4 * std::max(1.f, std::abs(wanted[k])));
    }
  };
  const auto all = cpu.run_all(model.batch(lengths));
  const auto all_of_gpu = gpu.run_all(on_gpu.batch(lengths));
  for (size_t layer = 0; layer < all[0].size(); ++layer) {
    SCOPED_TRACE("layer " + std::to_string(layer));
    for (size_t i = 0; i < all.size(); ++i) expect_near(all_of_gpu[i][layer], all[i][layer]);
  }
  leave_at(all[0][2], 1.001, settings);
  cpu.set(settings);
  gpu.set(settings);
  const auto expect_same = [&](const std::vector<int32_t>& some) {
    const std::vector<ExitAnswer> wanted = cpu.run(model.batch(some));
    const std::vector<ExitAnswer> got = gpu.run(on_gpu.batch(some));
    ASSERT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(std::any_of(wanted.begin(), wanted.end(), [&](const ExitAnswer& answer) {
      return answer.layers < static_cast<int64_t>(all[0].size());
    }));
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].layers, wanted[i].layers) << i;
      expect_near(got[i].logits, wanted[i].logits);
    }
  };
  // The third time in graphs, whose arena a larger batch has moved meanwhile.
  for (int turn = 0; turn < 3; ++turn) expect_same(lengths);
  std::vector<int32_t> more;
  for (int i = 0; i < 40; ++i) more.push_back(1 + i % 9);
  expect_same(more);
  for (int turn = 0; turn < 3; ++turn) expect_same(lengths);
  const std::vector<ExitAnswer> hurried = gpu.run(on_gpu.batch({4, 5}), 1e-9);
  EXPECT_EQ(hurried[0].layers, 1);
}

/// Some leave early, with about the logits that their layer gives among all: a GPU's products
/// choose their order of sums by the number of rows.
TEST_P(ExitFamily, AGpuLeavesInHalfPrecisionToo) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    SCOPED_TRACE(dtype_name(dtype));
    Exiting model(Exiting(GetParam().family, GetParam().method), dtype, Target::cuda());
    models::ExitSettings settings = model.config.exits;
    settings.patience = 1;
    settings.tolerance = 1;
    ExitPass pass(*model.encoder, settings, model.pool);
    model.encoder->parameters().refresh(model.pool);
    const std::vector<int32_t> lengths = {1, 9, 2, 7, 3, 8};
    const auto all = pass.run_all(model.batch(lengths));
    leave_at(all[0][2], 1.05, settings);
    pass.set(settings);
    const std::vector<ExitAnswer> answers = pass.run(model.batch(lengths));
    size_t early = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const auto layer = static_cast<size_t>(answers[i].layers - 1);
      ASSERT_LT(layer, all[i].size());
      early += layer + 1 < all[i].size();
      for (size_t k = 0; k < answers[i].logits.size(); ++k) {
        EXPECT_NEAR(answers[i].logits[k], all[i][layer][k],
                    0.1 * std::max(1.f, std::abs(all[i][layer][k])));
      }
    }
    EXPECT_GT(early, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ExitFamily,
                         testing::Values(ExitFamilyCase{"bert-words", ExitMethod::pabee},
                                         ExitFamilyCase{"bert-words", ExitMethod::deebert},
                                         ExitFamilyCase{"bert-words", ExitMethod::adaptive},
                                         ExitFamilyCase{"roberta-regression", ExitMethod::pabee},
                                         ExitFamilyCase{"distilbert-learned", ExitMethod::pabee},
                                         ExitFamilyCase{"distilbert-learned", ExitMethod::deebert},
                                         ExitFamilyCase{"albert-groups", ExitMethod::pabee},
                                         ExitFamilyCase{"albert-groups", ExitMethod::deebert},
                                         ExitFamilyCase{"albert-groups", ExitMethod::adaptive}),
                         [](const auto& test) {
                           std::string name = test.param.family;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + models::exit_method_name(test.param.method);
                         });

}  // namespace
}  // namespace hone::infer

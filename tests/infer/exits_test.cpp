#include "infer/exits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/folder.h"
#include "models/init.h"

namespace hone::infer {
namespace {

using models::ExitMethod;
using models::ProblemType;

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

/// A random model of six layers with exits.
struct Exiting {
  Exiting(const std::string& family, ExitMethod method) {
    const std::string golden = HONE_TEST_DIR "/../models/goldens/" + family;
    config = models::open_model_folder(golden).config;
    config.layers = 6;
    config.layer_groups = config.layer_groups > 0 ? 1 : 0;
    config.exits.method = method;
    encoder = std::make_unique<models::Encoder>(config, DType::f32, chosen_isa(), true);
    models::init_random(*encoder, 3, 0.5f, pool);
  }
  models::Batch batch(const std::vector<int32_t>& lengths) const {
    models::Batch made(config);
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

struct Case {
  const char* family;
  ExitMethod method;
};

class ExitFamily : public testing::TestWithParam<Case> {};

TEST_P(ExitFamily, AnswersAreThoseOfTheRuleAndDoNotDependOnTheBatch) {
  Exiting model(GetParam().family, GetParam().method);
  models::ExitSettings settings = model.config.exits;
  settings.patience = 1;
  settings.tolerance = 0.3;
  ExitPass pass(*model.encoder, settings, model.pool);
  const std::vector<int32_t> lengths = {1, 9, 2, 7, 3, 8, 5, 4, 6, 1, 9};
  const auto all = pass.run_all(model.batch(lengths));
  settings.entropy = 1.001 * entropy(all[0][2]);  // so that one leaves after three layers
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
    EXPECT_EQ(together[i].logits, all[i][layer]) << i;
    some_leave |= layer + 1 < all[i].size();
  }
  EXPECT_TRUE(some_leave);
}

TEST_P(ExitFamily, ADeadlineIsTheLimit) {
  Exiting model(GetParam().family, GetParam().method);
  models::ExitSettings never = model.config.exits;
  never.patience = 100;
  never.entropy = 0;
  ExitPass pass(*model.encoder, never, model.pool);
  const models::Batch batch = model.batch({4, 5});
  const auto all = pass.run_all(batch);
  const std::vector<ExitAnswer> hurried = pass.run(batch, 1e-9);
  for (size_t i = 0; i < hurried.size(); ++i) {
    EXPECT_EQ(hurried[i].layers, 1);
    EXPECT_EQ(hurried[i].logits, all[i][0]);
  }
  for (const ExitAnswer& answer : pass.run(batch, 1e6)) {
    EXPECT_EQ(answer.layers, static_cast<int64_t>(all[0].size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ExitFamily,
                         testing::Values(Case{"bert-words", ExitMethod::pabee},
                                         Case{"bert-words", ExitMethod::deebert},
                                         Case{"roberta-regression", ExitMethod::pabee},
                                         Case{"distilbert-learned", ExitMethod::pabee},
                                         Case{"distilbert-learned", ExitMethod::deebert},
                                         Case{"albert-groups", ExitMethod::pabee},
                                         Case{"albert-groups", ExitMethod::deebert}),
                         [](const auto& test) {
                           std::string name = test.param.family;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + models::exit_method_name(test.param.method);
                         });

}  // namespace
}  // namespace hone::infer

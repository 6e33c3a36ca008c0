#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "metrics/logit_scorer.h"

namespace hone::metrics {
namespace {

ProblemType problem_of(const std::string& name) {
  if (name == "single_label") return ProblemType::single_label;
  return name == "multi_label" ? ProblemType::multi_label : ProblemType::regression;
}

std::vector<bool> flags_of(const Json& row) {
  std::vector<bool> flags;
  for (const Json& item : row) flags.push_back(item.get<int>() != 0);
  return flags;
}

void add(Scorer& scorer, ProblemType problem, const Json& prediction, const Json& label) {
  if (problem == ProblemType::single_label) {
    scorer.add_class(prediction.get<int64_t>(), label.get<int64_t>());
  } else if (problem == ProblemType::multi_label) {
    scorer.add_labels(flags_of(prediction), flags_of(label));
  } else {
    scorer.add_score(prediction.get<double>(), label.get<double>());
  }
}

/// One rank and three, the last of which is given a single row and another none: the same values.
TEST(Scorer, AgreesWithScikitLearnAndScipyOnAnyNumberOfRanks) {
  const std::string file = HONE_TEST_DIR "/goldens.json";
  const Json cases = parse_json(read_file(file), file);
  ASSERT_GE(cases.size(), 20u);
  for (const Json& c : cases) {
    const ProblemType problem = problem_of(c["problem"]);
    std::vector<std::string> names;
    for (const auto& [name, value] : c["values"].items()) names.push_back(name);
    const Scorer empty(problem, c["classes"].get<int64_t>(), names);
    std::vector<Scorer> ranks(4, empty);
    Scorer alone = empty;
    const size_t rows = c["labels"].size();
    for (size_t i = 0; i < rows; ++i) {
      add(alone, problem, c["predictions"][i], c["labels"][i]);
      add(ranks[i + 1 == rows ? 2 : i % 2], problem, c["predictions"][i], c["labels"][i]);
    }
    for (size_t rank = 1; rank < ranks.size(); ++rank) ranks[0].merge(ranks[rank].values());
    for (const Scorer& scorer : {alone, ranks[0]}) {
      EXPECT_EQ(scorer.samples(), static_cast<int64_t>(rows));
      for (const auto& [name, value] : scorer.results()) {
        const Json& wanted = c["values"][name];
        if (wanted.is_null()) {
          EXPECT_TRUE(std::isnan(value)) << c["name"] << ": " << name << ": " << value;
        } else {
          const double tolerance = 1e-12 * std::max(1.0, std::abs(wanted.get<double>()));
          EXPECT_NEAR(value, wanted.get<double>(), tolerance) << c["name"] << ": " << name;
        }
      }
    }
  }
}

TEST(Scorer, IsUndefinedWithoutSamples) {
  for (const ProblemType problem :
       {ProblemType::single_label, ProblemType::multi_label, ProblemType::regression}) {
    for (const auto& [name, value] : Scorer(problem, 2, default_metrics(problem, 2)).results()) {
      EXPECT_TRUE(std::isnan(value)) << name;
    }
  }
  EXPECT_TRUE(std::isnan(ClassCounts(2).matthews()));
}

TEST(Scorer, ReportsInTheOrderAsked) {
  Scorer scorer(ProblemType::single_label, 2, {"f1", "accuracy"});
  scorer.add_class(1, 1);
  scorer.add_class(0, 1);
  const std::vector<std::pair<std::string, double>> wanted = {{"f1", 2.0 / 3}, {"accuracy", 0.5}};
  EXPECT_EQ(scorer.results(), wanted);
}

TEST(Scorer, RefusesMetricsThatDoNotBelong) {
  const auto message = [](ProblemType problem, std::string name) -> std::string {
    try {
      Scorer(problem, 2, {std::move(name)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(ProblemType::single_label, "bleu"), "metric: unknown, got 'bleu'");
  EXPECT_EQ(message(ProblemType::regression, "f1"), "metric: 'f1' is not for regression");
}

TEST(ClassCounts, RefusesClassesOutOfRange) {
  ClassCounts counts(2);
  EXPECT_THROW(counts.add(2, 0), Error);
  EXPECT_THROW(counts.add(0, -1), Error);
  EXPECT_THROW(counts.merge(ClassCounts(3).values()), Error);
  EXPECT_EQ(counts.samples(), 0);
}

TEST(Correlation, IsUndefinedForValuesThatAreNotFinite) {
  for (const double odd : {std::nan(""), HUGE_VAL}) {
    Correlation correlation;
    correlation.add(1, 1);
    correlation.add(odd, 2);
    correlation.add(3, 3);
    EXPECT_TRUE(std::isnan(correlation.pearson()));
    EXPECT_TRUE(std::isnan(correlation.spearman()));
  }
  Correlation one;
  one.add(1, 1);
  EXPECT_TRUE(std::isnan(one.pearson()));
  EXPECT_TRUE(std::isnan(one.spearman()));
}

TEST(LogitScorer, TheFiveBestAreToldByTheirOrder) {
  const float logits[] = {3, 1, 2, 2, 2, 2, 0};
  // Classes 2 to 5 are equal: the first of equal ones are better, and class 1 is the sixth.
  const std::pair<int64_t, bool> among[] = {{0, true}, {1, false}, {2, true}, {3, true},
                                            {4, true}, {5, true},  {6, false}};
  for (const auto& [label, is] : among) {
    LogitScorer scorer(ProblemType::single_label, 7, {"accuracy", "top5_accuracy"});
    scorer.add_class(logits, label);
    EXPECT_EQ(scorer.results()[1].second, is ? 1 : 0) << label;
  }
  LogitScorer few(ProblemType::single_label, 3, {"top5_accuracy"});
  EXPECT_TRUE(std::isnan(few.results()[0].second));
  few.add_class(std::span(logits).first(3), 1);
  EXPECT_EQ(few.results()[0].second, 1);
}

/// Parts that are merged in order have the bits of the whole, the loss included.
TEST(LogitScorer, PutsPartsTogetherToTheBit) {
  for (const ProblemType problem :
       {ProblemType::single_label, ProblemType::multi_label, ProblemType::regression}) {
    const bool classes = problem == ProblemType::single_label;
    const LogitScorer empty(problem, 3,
                            classes ? std::vector<std::string>{"accuracy", "top5_accuracy"}
                                    : std::vector<std::string>());
    std::vector<LogitScorer> ranks(3, empty);
    LogitScorer alone = empty;
    for (int i = 0; i < 100; ++i) {
      const float logits[] = {std::sin(1.f + i), std::sin(2.f * i), std::cos(3.f * i)};
      for (LogitScorer* scorer : {&alone, &ranks[i < 10 ? 0 : 2]}) {
        if (problem == ProblemType::single_label) scorer->add_class(logits, i % 3);
        if (problem == ProblemType::multi_label)
          scorer->add_labels(logits, {i % 2 == 0, true, i > 50});
        if (problem == ProblemType::regression) scorer->add_score(logits, i / 7.);
      }
    }
    LogitScorer merged = empty;
    for (const LogitScorer& rank : ranks) merged.merge(rank.values());
    EXPECT_EQ(merged.loss(), alone.loss());
    EXPECT_EQ(merged.results(), alone.results());
  }
}

}  // namespace
}  // namespace hone::metrics

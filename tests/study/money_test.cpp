#include "study/money.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "study/published.h"

namespace hone::study {
namespace {

struct PublishedMoney {
  PublishedMoney() {
    const Json json = parse_json(published_money_text(), "published");
    prices = prices_of(json.at("prices"), "published");
    choices = choices_of(json.at("rows"), "published");
  }
  const Choice& named(const std::string& name) const {
    for (const Choice& choice : choices) {
      if (choice.name == name) return choice;
    }
    throw std::out_of_range(name);
  }
  std::vector<Price> prices;
  std::vector<Choice> choices;
};

TEST(Money, RecomputesThePublishedRows) {
  const PublishedMoney money;
  ASSERT_EQ(money.choices.size(), 11U);
  EXPECT_NEAR(total_of(money.named("1 GPU"), money.prices), 1.14 * 35920 / 3600, 1e-9);
  EXPECT_NEAR(total_of(money.named("8 GPUs"), money.prices), 24.15, 0.005);
  EXPECT_NEAR(total_of(money.named("1x4"), money.prices), 16.64, 0.005);
  EXPECT_NEAR(total_of(money.named("1 slow + 3"), money.prices), (0.90 + 3 * 1.14) * 24256 / 3600,
              1e-9);
}

TEST(Money, MarksTheRowThatBillsOneNodeOfTwo) {
  const PublishedMoney money;
  const Choice& row = money.named("2x2");
  EXPECT_NEAR(total_of(row, money.prices), 40.08, 0.005);
  const report::Section section = money_section(money.choices, money.prices, 0);
  size_t marked = 0;
  for (const auto& cells : section.tables.at(1).rows) {
    if (cells.back().empty()) continue;
    ++marked;
    EXPECT_EQ(cells, (std::vector<std::string>{"2x2", "2 x g3.16xlarge, 4 GPUs", "15821", "40.08",
                                               "published as 20.02: bills 1 of 2 nodes"}));
  }
  EXPECT_EQ(marked, 1U);
}

TEST(Money, NamesCheapestFastestAndTheBestForADeadline) {
  const std::vector<Price> prices = prices_of(
      parse_json(R"([{"device":"d","per_hour":1,"currency":"EUR","date":"","source":""}])", "p"),
      "p");
  const std::vector<Choice> choices = {
      {"slow", {{"d", 1}}, 7200}, {"middle", {{"d", 3}}, 3600}, {"fast", {{"d", 8}}, 1800}};
  const BestChoices best = best_of(choices, prices, 4000);
  EXPECT_EQ(best.cheapest, 0);
  EXPECT_EQ(best.fastest, 2);
  EXPECT_EQ(best.by_deadline, 1);
  EXPECT_EQ(best_of(choices, prices, 100).by_deadline, -1);
  EXPECT_NE(money_section(choices, prices, 100).text.find("Nothing is done within 100 s"),
            std::string::npos);
}

TEST(Money, OfRecordsTakesTheirNodesAndTheMachinesDevice) {
  std::vector<report::StudyRuns> studies;
  const auto add = [&](const std::string& text) {
    report::add_record(parse_json(text, "r"), "r", studies);
  };
  for (const char* seconds : {"3600", "3000", "9999"}) {
    add(R"({"study":"scale","case":{"nodes":2},"machine":{"processor":"EPYC 9"},"metrics":{"seconds":)" +
        std::string(seconds) + "}}");
  }
  add(R"({"study":"scale","case":{},"machine":{"published":"x"},"metrics":{"seconds":1}})");
  const std::vector<Price> prices = {{"EPYC", 2, "EUR", "", ""}};
  const std::vector<Choice> choices = choices_of(studies, prices);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(total_of(choices[0], prices), 4);
  EXPECT_THROW(choices_of(studies, {{"Xeon", 2, "EUR", "", ""}}), Error);
}

class PriceFile : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    path_ = testing::TempDir() + std::to_string(::getpid()) + name;
    write_file(path_, text);
    return path_;
  }
  std::string refusal(const std::string& name, const std::string& text) {
    try {
      read_prices(write(name, text));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(PriceFile, CsvAndJsonAreAlike) {
  const auto csv = read_prices(
      write("p.csv",
            "device,per_hour,currency,date,source\r\n\"a \"\"b\"\", c\",1.5,EUR,2026-01-01,x\n\n"));
  const auto json = read_prices(write(
      "p.json", R"([{"device":"a \"b\", c","per_hour":1.5,"currency":"EUR","date":"2026-01-01",)"
                R"("source":"x"}])"));
  for (const auto& prices : {csv, json}) {
    ASSERT_EQ(prices.size(), 1U);
    EXPECT_EQ(prices[0].device, "a \"b\", c");
    EXPECT_EQ(prices[0].per_hour, 1.5);
    EXPECT_EQ(prices[0].date, "2026-01-01");
  }
}

TEST_F(PriceFile, MistakesNameFileAndField) {
  const std::string head = "device,per_hour,currency,date,source\n";
  EXPECT_NE(refusal("p.csv", head).find("list of prices"), std::string::npos);
  EXPECT_NE(refusal("p.csv", head + "a,x,EUR,,\n").find("line 2: per_hour"), std::string::npos);
  EXPECT_NE(refusal("p.csv", head + "a,-1,EUR,,\n").find("per_hour"), std::string::npos);
  EXPECT_NE(refusal("p.csv", head + "a,1,EUR,,\nb,1,USD,,\n").find("currency"), std::string::npos);
  EXPECT_NE(refusal("p.csv", head + "a,1,EUR,,\na,2,EUR,,\n").find("device"), std::string::npos);
  EXPECT_NE(refusal("p.csv", head + "a,1\n").find("currency"), std::string::npos);
  EXPECT_NE(refusal("p.csv", "\"").find("quote"), std::string::npos);
  EXPECT_NE(refusal("p.json", "{}").find("list of prices"), std::string::npos);
  EXPECT_NE(refusal("p.json", "[1]").find("no object"), std::string::npos);
}

}  // namespace
}  // namespace hone::study

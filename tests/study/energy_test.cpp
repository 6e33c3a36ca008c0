#include "study/energy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace hone::study {
namespace {

using profile::UsageSample;

TEST(Energy, CountersAreMeasuredAndPowerIsEstimated) {
  std::vector<UsageSample> samples = {
      {.seconds = 0, .device_watts = 100, .device_joules = 5000, .processor_joules = 10},
      {.seconds = 2, .device_watts = 300, .device_joules = 5400, .processor_joules = 70}};
  const RunEnergy counted = energy_of(samples);
  EXPECT_EQ(counted.device.joules, 400);
  EXPECT_STREQ(counted.device.known, "measured");
  EXPECT_EQ(counted.processor.joules, 60);
  for (UsageSample& sample : samples) sample.device_joules.reset();
  samples.front().processor_joules.reset();
  const RunEnergy estimated = energy_of(samples);
  EXPECT_EQ(estimated.device.joules, 400) << "200 W on average, for 2 s";
  EXPECT_STREQ(estimated.device.known, "estimated");
  EXPECT_STREQ(estimated.processor.known, "not available");
  EXPECT_FALSE(energy_of({}).any());
}

TEST(Energy, Co2IsToldOnlyByAUsersFile) {
  RunEnergy energy{.processor = {1.8e6, "measured"}, .device = {1.8e6, "measured"}};
  Json metrics = Json::object();
  add_energy(energy, {}, metrics);
  EXPECT_FALSE(metrics.contains("co2_g"));
  EXPECT_EQ(metrics["processor_joules"], 1.8e6);
  EXPECT_EQ(metrics["device_joules_known"], "measured");
  add_energy(energy, Carbon{.grams_per_kwh = 400, .pue = 1.2}, metrics);
  EXPECT_NEAR(metrics["co2_g"].get<double>(), 480, 1e-9) << "a kilowatt hour";
  Json none = Json::object();
  add_energy({}, Carbon{.grams_per_kwh = 400, .pue = 1.2}, none);
  EXPECT_EQ(none["processor_joules_known"], "not available");
  EXPECT_FALSE(none.contains("processor_joules"));
  EXPECT_FALSE(none.contains("co2_g"));
}

TEST(Energy, EmissionsHaveTheColumnsOfCodeCarbon) {
  const Json record = {{"study", "s"},
                       {"command", "hone train, twice"},
                       {"machine", {{"processor", "P"}, {"cores", 2}}},
                       {"metrics",
                        {{"run_seconds", 10},
                         {"processor_joules", 3.6e6},
                         {"co2_g", 500},
                         {"co2_pue", 1.5},
                         {"co2_country", "DEU"}}}};
  const std::string csv = emissions_csv({record, {{"metrics", {{"run_seconds", 1}}}}});
  ASSERT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2) << "what has no energy has no line";
  EXPECT_TRUE(csv.starts_with("timestamp,project_name,run_id,experiment_id,duration,emissions,"));
  const std::string line = csv.substr(csv.find('\n') + 1);
  EXPECT_TRUE(line.starts_with(",s,0,\"hone train, twice\",10.000000,0.500000000,5.0")) << line;
  // Every column has its place: the one comma in quotes apart.
  const std::string header = csv.substr(0, csv.find('\n'));
  EXPECT_EQ(std::count(line.begin(), line.end(), ','),
            std::count(header.begin(), header.end(), ',') + 1);
  EXPECT_NE(line.find(",1.000000000,0.000000000,0,1.000000000,,DEU,"), std::string::npos) << line;
}

TEST(Energy, CarbonFilesAreChecked) {
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "carbon.json";
  write_file(path, R"({"g_per_kwh": 380, "pue": 1.1, "country": "DEU"})");
  EXPECT_EQ(read_carbon(path).grams_per_kwh, 380);
  for (const char* wrong :
       {R"({"pue": 1})", R"({"g_per_kwh": 1})", R"({"g_per_kwh": -1, "pue": 1})",
        R"({"g_per_kwh": 1, "pue": 0.5})", "[]"}) {
    write_file(path, wrong);
    EXPECT_THROW(read_carbon(path), Error) << wrong;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hone::study

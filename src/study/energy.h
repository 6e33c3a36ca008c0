#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "profile/usage.h"

namespace hone::study {

/// How much CO2 a kilowatt hour costs, by a user's file.
struct Carbon {
  double grams_per_kwh = 0;
  double pue = 1;  ///< what the building takes for each joule of its machines
  std::string source = {};
  std::string country = {};  ///< ISO 3166, three letters

  /// Gives grams of CO2 for joules of machines.
  double grams(double joules) const;
};

/// Reads {"g_per_kwh", "pue", "source", "country"}; source and country may be left out.
Carbon read_carbon(const std::string& path);

/// Energy of one part of the machine, and how it is known: "measured" by a counter, "estimated"
/// from samples of power, or "not available".
struct Energy {
  double joules = 0;
  const char* known = "not available";
};

/// Energy between the first and the last of some samples.
struct RunEnergy {
  Energy processor, device;
  double joules() const { return processor.joules + device.joules; }
  bool any() const;
};
RunEnergy energy_of(const std::vector<profile::UsageSample>& samples);

/// Adds what is known: processor_joules, device_joules, co2_g, each with how it is known.
void add_energy(const RunEnergy& energy, const std::optional<Carbon>& carbon, Json& metrics);

/// Gives the lines of emissions.csv, with the columns of CodeCarbon, from records; a run without
/// energy has no line.
std::string emissions_csv(const std::vector<Json>& records);

}  // namespace hone::study

#include "study/energy.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"

namespace hone::study {
namespace {

constexpr double kJoulesOfKwh = 3.6e6;

/// Energy by the difference of a counter, where first and last sample have it.
Energy by_counter(const std::optional<double>& first, const std::optional<double>& last) {
  if (!first || !last) return {};
  return {*last - *first, "measured"};
}

/// Gives the integral of the power over time, by trapezia; a sample without power ends it.
Energy by_power(const std::vector<profile::UsageSample>& samples) {
  double joules = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!samples[i].device_watts) return {};
    if (i == 0) continue;
    joules += (samples[i].seconds - samples[i - 1].seconds) *
              (*samples[i].device_watts + *samples[i - 1].device_watts) / 2;
  }
  return {joules, "estimated"};
}

void add_part(const std::string& name, const Energy& energy, Json& metrics) {
  metrics[name + "_known"] = energy.known;
  if (std::string_view(energy.known) != "not available") metrics[name] = energy.joules;
}

double number(const Json& metrics, const char* name) {
  const auto found = metrics.find(name);
  return found != metrics.end() && found->is_number() ? found->get<double>() : 0;
}

/// Gives a text as a CSV cell.
std::string cell(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  std::string text = found->is_string() ? found->get<std::string>() : found->dump();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, "\"");
  return '"' + text + '"';
}

/// Gives one line of emissions.csv: energies in kWh, emissions in kg, power in watts.
std::string emissions_line(const Json& record, size_t number_of_run) {
  const Json metrics = record.value("metrics", Json::object());
  const Json machine = record.value("machine", Json::object());
  const double seconds = number(metrics, "run_seconds");
  const double cpu = number(metrics, "processor_joules"), gpu = number(metrics, "device_joules");
  const double kilograms = number(metrics, "co2_g") / 1e3;
  const auto rate = [&](double value) { return seconds > 0 ? value / seconds : 0; };
  return fmt::format(
      ",{},{},{},{:.6f},{:.9f},{:.9e},{:.3f},{:.3f},0,{:.9f},{:.9f},0,{:.9f},,{},,,,,,,{},{},{},{},"
      ",,{},machine,N,{}\n",
      cell(record, "study"), number_of_run, cell(record, "command"), seconds, kilograms,
      rate(kilograms), rate(cpu), rate(gpu), cpu / kJoulesOfKwh, gpu / kJoulesOfKwh,
      (cpu + gpu) / kJoulesOfKwh, cell(metrics, "co2_country"), cell(machine, "cores"),
      cell(machine, "processor"), cell(machine, "gpus"), cell(machine, "gpu"),
      number(machine, "memory_bytes") / (1 << 30), number(metrics, "co2_pue"));
}

}  // namespace

double Carbon::grams(double joules) const { return joules / kJoulesOfKwh * pue * grams_per_kwh; }

Carbon read_carbon(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  if (!json.is_object()) fail(ErrorKind::bad_file, "{}: is no object", path);
  const JsonFields fields(json, path);
  Carbon carbon{.grams_per_kwh = fields.number("g_per_kwh"),
                .pue = fields.number("pue"),
                .source = fields.string("source", ""),
                .country = fields.string("country", "")};
  if (!(carbon.grams_per_kwh >= 0)) fields.fail_field("g_per_kwh", "expected at least 0");
  if (!(carbon.pue >= 1)) fields.fail_field("pue", "expected at least 1");
  return carbon;
}

bool RunEnergy::any() const {
  return std::string_view(processor.known) != "not available" ||
         std::string_view(device.known) != "not available";
}

RunEnergy energy_of(const std::vector<profile::UsageSample>& samples) {
  if (samples.size() < 2) return {};
  RunEnergy energy;
  energy.processor = by_counter(samples.front().processor_joules, samples.back().processor_joules);
  energy.device = by_counter(samples.front().device_joules, samples.back().device_joules);
  if (std::string_view(energy.device.known) == "not available") energy.device = by_power(samples);
  return energy;
}

void add_energy(const RunEnergy& energy, const std::optional<Carbon>& carbon, Json& metrics) {
  add_part("processor_joules", energy.processor, metrics);
  add_part("device_joules", energy.device, metrics);
  if (!carbon || !energy.any()) return;
  metrics["co2_g"] = carbon->grams(energy.joules());
  metrics["co2_pue"] = carbon->pue;
  metrics["co2_country"] = carbon->country;
}

std::string emissions_csv(const std::vector<Json>& records) {
  std::string text =
      "timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,cpu_power,"
      "gpu_power,ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,country_name,"
      "country_iso_code,region,cloud_provider,cloud_region,os,python_version,codecarbon_version,"
      "cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,"
      "on_cloud,pue\n";
  for (size_t i = 0; i < records.size(); ++i) {
    const Json metrics = records[i].value("metrics", Json::object());
    if (!metrics.is_object()) continue;
    if (metrics.contains("processor_joules") || metrics.contains("device_joules")) {
      text += emissions_line(records[i], i);
    }
  }
  return text;
}

}  // namespace hone::study

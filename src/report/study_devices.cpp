#include <algorithm>
#include <cctype>

#include "report/study_pictures.h"

namespace hone::report {
namespace {

bool is_resnet(const CaseRuns& runs) {
  std::string model = runs.text("model");
  std::transform(model.begin(), model.end(), model.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return model.find("resnet") != std::string::npos;
}

/// Finds the run that others of its model, machine and batch are held against: one device, fp32.
const CaseRuns* base_of(const StudyRuns& study, const CaseRuns& runs) {
  for (const CaseRuns& each : study.cases) {
    bool alike = each.machine == runs.machine && each.number("devices") == 1 &&
                 each.text("precision") == "fp32";
    for (const char* field : {"part", "model", "device", "batch"}) {
      alike = alike && each.text(field) == runs.text(field);
    }
    if (alike) return &each;
  }
  return nullptr;
}

/// Gives the speed-ups of what was measured here; published ones are there already.
StudyRuns with_speed_up(StudyRuns study) {
  const StudyRuns measured = study;
  for (CaseRuns& runs : study.cases) {
    const CaseRuns* base = base_of(measured, runs);
    if (!base || runs.spread("samples_per_second").count == 0) continue;
    const double one = base->spread("samples_per_second").median;
    runs.metrics["speed_up"] = {runs.spread("samples_per_second").median / one};
  }
  return study;
}

}  // namespace

void add_devices(const StudyRuns& study, Section& section) {
  const StudyRuns all = with_speed_up(study);
  const auto add = [&](bool resnet, const std::string& part, const std::string& device,
                       const std::string& metric) {
    StudyRuns some{.name = "devices, " + std::string(resnet ? "ResNet" : "text") + ", " + part +
                           (device.empty() ? "" : " on " + device)};
    for (const CaseRuns& runs : all.cases) {
      const bool here = device.empty() || runs.text("device") == device;
      if (is_resnet(runs) != resnet || runs.text("part") != part || !here) continue;
      if (runs.spread(metric).count > 0) some.cases.push_back(runs);
    }
    if (!some.cases.empty()) section.charts.emplace_back(bars_of(some, metric));
  };
  for (const bool resnet : {true, false}) {
    add(resnet, "training", "", "speed_up");
    add(resnet, "training", "", "seconds");
    add(resnet, "inference", "cpu", "seconds");
    add(resnet, "inference", "cuda", "seconds");
  }
}

}  // namespace hone::report

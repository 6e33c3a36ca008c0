#pragma once

#include "report/records.h"
#include "report/report.h"

namespace hone::report {

/// Adds what a study that hone knows must show, by its name: pictures, tables, and which case is
/// best. Of any other study it adds bars for every metric.
void add_study_pictures(const StudyRuns& study, Section& section);

/// Gives all that is said of a study.
Section study_section(const StudyRuns& study);

/// Gives bars of a metric's medians, a row a case.
BarChart bars_of(const StudyRuns& study, const std::string& metric);
/// Gives lines of a metric's medians over a field of the cases; the other fields and the machine
/// name the lines.
LineChart lines_of(const StudyRuns& study, const std::string& field, const std::string& metric);
/// Gives curves of the runs, one a case that has both.
LineChart curves_of(const StudyRuns& study, const std::string& x, const std::string& y);

/// Adds speed-up and efficiency by ranks, strong and weak; see docs/study.md.
void add_scaling(const StudyRuns& study, Section& section);
/// Adds four pictures for ResNets and four for all other models: speed-up by method, time by batch,
/// inference on a processor and on a GPU.
void add_devices(const StudyRuns& study, Section& section);
/// Adds the shares of a run's time, a pie and a table for each case.
void add_stages(const StudyRuns& study, Section& section);

}  // namespace hone::report

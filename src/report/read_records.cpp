#include <algorithm>

#include "base/file.h"
#include "report/read_run.h"
#include "report/records.h"
#include "report/study_pictures.h"

namespace hone::report {
namespace {

DataTable medians_of(const StudyRuns& study) {
  const bool several = study.several_machines();
  DataTable table{.title = study.name + ": medians with the least and the largest",
                  .columns = {"case"}};
  if (several) table.columns.emplace_back("machine");
  table.columns.insert(table.columns.end(), study.metrics.begin(), study.metrics.end());
  table.columns.emplace_back("status");
  for (const CaseRuns& runs : study.cases) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(runs.label());
    if (several) row.push_back(runs.machine);
    for (const std::string& metric : study.metrics) row.push_back(runs.spread(metric).text());
    row.push_back(runs.status);
  }
  return table;
}

}  // namespace

Section study_section(const StudyRuns& measured) {
  StudyRuns study = measured;
  // Runs come in changing order; cases are shown by what they are, published ones behind ours.
  std::stable_sort(study.cases.begin(), study.cases.end(),
                   [](const CaseRuns& a, const CaseRuns& b) {
                     if (a.published != b.published) return b.published;
                     return a.fields < b.fields;
                   });
  Section section{.heading = "Study: " + study.name};
  if (study.several_machines()) {
    section.text = "Records of several machines are shown apart and not averaged.";
  }
  add_study_pictures(study, section);
  section.tables.insert(section.tables.begin(), medians_of(study));
  return section;
}

void add_records(const Source& source, Report& report) {
  std::vector<std::string> files;
  for (const char* name : {"/records.jsonl", "/published.jsonl"}) {
    if (file_exists(source.folder + name)) files.push_back(source.folder + name);
  }
  for (const StudyRuns& study : read_records(files)) {
    report.sections.push_back(study_section(study));
  }
}

}  // namespace hone::report

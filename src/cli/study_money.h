#pragma once

#include <string>

#include "cli/arguments.h"
#include "report/report.h"

/// The studies that run nothing: what they say is computed from records.
namespace hone::cli {

struct MoneyFlags {
  std::string from;    ///< records; empty: the published runs
  std::string prices;  ///< empty: the published prices
  std::string output;
  double deadline = 0;
};
int study_money(const MoneyFlags& flags, const CommonOptions& common);

/// Models larger numbers of ranks from the records of scale in `from`. Exit code 1 where the model
/// does not meet what was measured.
int study_simulate(const std::string& from, const std::string& output, const CommonOptions& common);

/// Prints a study's tables and writes its page, tables.tex and tables/*.csv into a folder.
void show_section(const report::Section& section, const std::string& name,
                  const std::string& output, const CommonOptions& common);

/// Makes a folder where there is none yet.
void make_output_folder(const std::string& folder);

/// Gives the records' file that a user names: itself, or in a folder.
std::string records_path(const std::string& from);

}  // namespace hone::cli

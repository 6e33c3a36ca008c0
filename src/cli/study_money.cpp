#include "cli/study_money.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "study/money.h"
#include "study/published.h"
#include "study/simulate.h"

namespace hone::cli {
namespace {

/// Gives a table with its columns under one another.
std::string table_text(const report::DataTable& table) {
  std::vector<size_t> widths(table.columns.size());
  const auto measure = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  measure(table.columns);
  for (const auto& row : table.rows) measure(row);
  std::string text = "\n" + table.title + "\n";
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  return text;
}

Json json_of(const report::Section& section) {
  Json tables = Json::array();
  for (const report::DataTable& table : section.tables) {
    tables.push_back({{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}});
  }
  return {{"study", section.heading}, {"text", section.text}, {"tables", std::move(tables)}};
}

}  // namespace

void make_output_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "{}: {}", folder, error.message());
}

std::string records_path(const std::string& from) {
  return folder_exists(from) ? from + "/records.jsonl" : from;
}

void show_section(const report::Section& section, const std::string& name,
                  const std::string& output, const CommonOptions& common) {
  report::Report page{.title = "hone study " + name, .sections = {section}};
  make_output_folder(output + "/tables");
  write_file(output + "/report.html", report::to_html(page));
  write_file(output + "/tables.tex", report::to_latex(page));
  for (const report::NamedText& file : report::to_csv(page)) {
    write_file(output + "/tables/" + file.name, file.text);
  }
  if (common.json) return print(json_line(json_of(section)));
  std::string text = section.heading + "\n";
  if (!section.text.empty()) text += section.text + "\n";
  for (const report::DataTable& table : section.tables) text += table_text(table);
  print(text + "\n" + output + "/report.html\n");
}

int study_money(const MoneyFlags& flags, const CommonOptions& common) {
  const std::string published = "the published runs";
  const Json known = parse_json(study::published_money_text(), published);
  const std::vector<study::Price> prices = flags.prices.empty()
                                               ? study::prices_of(known.at("prices"), published)
                                               : study::read_prices(flags.prices);
  std::vector<study::Choice> choices;
  if (flags.from.empty() || flags.from == "published") {
    choices = study::choices_of(known.at("rows"), published);
  } else {
    choices = study::choices_of(report::read_records({records_path(flags.from)}), prices);
  }
  show_section(study::money_section(choices, prices, flags.deadline), "money", flags.output,
               common);
  return kDone;
}

int study_simulate(const std::string& from, const std::string& output,
                   const CommonOptions& common) {
  if (from.empty()) fail(ErrorKind::usage, "--from: missing; records of hone study scale");
  const study::Simulation made =
      study::simulate(study::measured_steps(report::read_records({records_path(from)})));
  show_section(study::section_of(made), "simulate", output, common);
  return made.beyond.empty() ? kFailed : kDone;
}

}  // namespace hone::cli

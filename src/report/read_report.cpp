#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "report/json_lines_file.h"
#include "report/read_run.h"
#include "report/report.h"

namespace hone::report {
namespace {

constexpr size_t kMostFolders = 1000;

bool is_run(const std::string& folder) {
  return file_exists(folder + "/log.jsonl") || file_exists(folder + "/all_results.json");
}

/// Lists the folder and those in it, by name; what cannot be read is passed over.
std::vector<Source> sources_in(const std::string& folder) {
  std::vector<Source> sources = {
      {std::filesystem::path(folder).lexically_normal().filename().string(), folder}};
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code no_folder;
    const std::string name = at->path().filename().string();
    if (at->is_directory(no_folder) && !name.starts_with("checkpoint-")) {
      sources.push_back({name, at->path().string()});
    }
    if (sources.size() > kMostFolders) break;
  }
  std::sort(sources.begin() + 1, sources.end(),
            [](const Source& a, const Source& b) { return a.name < b.name; });
  return sources;
}

}  // namespace

std::vector<Json> read_json_lines(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<Json> lines;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    ++number;
    Json line = parse_json(std::string_view(text).substr(at, end - at),
                           fmt::format("{}: line {}", path, number));
    if (!line.is_object()) fail(ErrorKind::bad_file, "{}: line {}: is no object", path, number);
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

Report read_report(const std::string& folder) {
  if (!folder_exists(folder)) fail(ErrorKind::bad_file, "{}: is no folder", folder);
  const std::vector<Source> sources = sources_in(folder);
  Report report{.title = "hone: " + sources.front().name};
  report.facts.emplace_back("folder", folder);
  std::vector<Source> runs;
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(runs),
               [](const Source& source) { return is_run(source.folder); });
  if (!runs.empty()) add_runs(runs, report);
  std::vector<Source> profiles;
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(profiles),
               [](const Source& source) { return file_exists(source.folder + "/profile.json"); });
  add_profiles(profiles, report);
  for (const Source& source : sources) {
    if (file_exists(source.folder + "/records.jsonl")) add_records(source, report);
  }
  if (report.sections.empty()) {
    fail(ErrorKind::bad_file,
         "{}: has no log.jsonl, all_results.json, profile.json or records.jsonl", folder);
  }
  return report;
}

}  // namespace hone::report

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_process.h"
#include "base/json.h"

/// Studies: lists of cases, each a run of this program as a process of its own, whose outputs are
/// read into records.
namespace hone::study {

using Words = std::vector<std::string>;

/// What stands in a case's words for the run's own folder and for its seed.
constexpr std::string_view kRunFolder = "{run}";
constexpr std::string_view kRunSeed = "{seed}";

/// What a user may choose of a study. What is empty or 0 has the study's own default.
struct StudySettings {
  std::vector<std::string> models = {};  ///< folders; none: new models for the built-in reviews
  std::string task = {};
  std::string data = {};             ///< the task's folder, or a file of raw reviews
  int64_t max_steps = 0;             ///< steps of each training
  int64_t batch = 0;                 ///< samples a device and batch
  std::vector<int64_t> points = {};  ///< sizes to go through: workers, ranks, layers
  std::string device = "auto";
  int threads = 0;
  uint64_t seed = 42;
  double target_loss = 0;  ///< the time to it is measured; 0: none
  Words more = {};         ///< words for every training, as a user writes them
};

/// What a run left.
struct RunOutputs {
  std::string folder;                     ///< the run's own
  std::vector<ChildResult> results = {};  ///< what its commands gave, in order
  double seconds = 0;                     ///< the last command's, from start to end
};

/// What was read of a run.
struct Readings {
  Json metrics = Json::object();
  Json curves = Json::object();  ///< lists of numbers by name, all equally long
};

struct Case {
  Json fields;
  std::vector<Words> commands = {};  ///< run one after the other; the last one is measured
  std::function<void(const RunOutputs&, const StudySettings&, Readings&)> read = {};
  std::string missing = {};  ///< why this machine or build cannot run it; empty: it can
  std::function<void(const std::string& folder)> prepare = {};  ///< makes files of the run's folder
};

struct Study {
  std::string_view name;
  std::string_view shows;  ///< says in a line what the study shows
  std::vector<Case> (*cases)(const StudySettings& settings);
};

/// Lists all studies that run commands.
const std::vector<Study>& studies();
/// Finds a study; an unknown name is a usage error that lists those there are.
const Study& find_study(const std::string& name);

/// Gives the words of a command as they are run: with the folder and the seed in their places.
Words filled(const Words& words, const std::string& folder, uint64_t seed);
/// Gives them as a shell reads them, with "RUN" for the folder.
std::string shown(const std::vector<Words>& commands, uint64_t seed);

}  // namespace hone::study

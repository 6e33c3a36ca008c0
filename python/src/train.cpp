#include "train.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "cli/flag_names.h"
#include "cli/output.h"
#include "cli/train_display.h"
#include "cli/train_options.h"
#include "cli/train_runs.h"
#include "train/results.h"

namespace hone::python {
namespace {

namespace nb = nanobind;

/// What Ctrl-C, or another signal's handler, raised while runs went on.
using Raised = std::optional<nb::python_error>;

/// Shows a run as the program does, and tells the listener of it.
class ListenedRun : public cli::TrainDisplay {
 public:
  ListenedRun(bool quiet, const nb::object& listener, Raised& raised)
      : TrainDisplay(quiet, [&raised] { return raised.has_value(); }),
        listener_(listener),
        raised_(raised) {}

  void say(const std::string& line) override {
    TrainDisplay::say(line);
    look_for_signals();
    if (raised_ && !begun_) throw nb::python_error(*raised_);  // there is nothing to be saved
  }
  void progress(const train::Progress& at) override {
    begun_ = true;
    TrainDisplay::progress(at);
    look_for_signals();
    tell("step", at.step, at.steps, at.epoch, at.loss, at.learning_rate);
  }
  void logged(const train::LogEntry& entry) override {
    TrainDisplay::logged(entry);
    const nb::gil_scoped_acquire held;
    nb::dict values;
    for (const auto& [name, value] : entry.values) values[name.c_str()] = value;
    tell("logged", entry.step, entry.epoch, values);
  }
  void saved(const std::string& folder) override { tell("saved", folder); }
  bool end_requested() override {
    const nb::gil_scoped_acquire held;
    return nb::cast<bool>(listener_.attr("should_stop"));
  }

 private:
  /// Calls the listener. Ctrl-C while a callback runs is the callback's exception, but the run's
  /// end: the first one is kept for stop_requested().
  template <typename... Args>
  void tell(const char* event, const Args&... args) {
    const nb::gil_scoped_acquire held;
    try {
      listener_.attr(event)(args...);
    } catch (nb::python_error& error) {
      if (raised_ || !error.matches(PyExc_KeyboardInterrupt)) throw;
      raised_.emplace(std::move(error));
    }
  }
  void look_for_signals() {
    const nb::gil_scoped_acquire held;
    if (!raised_ && PyErr_CheckSignals() != 0) raised_.emplace();
  }

  nb::handle listener_;
  Raised& raised_;
  bool begun_ = false;  ///< whether a step was taken
};

Json results_of(const std::vector<train::Summary>& summaries, const cli::TrainOptions& parsed) {
  Json results = {{"runs", Json::array()}};
  for (const train::Summary& summary : summaries) {
    results["runs"].push_back(train::to_json(summary));
  }
  if (summaries.size() > 1) {
    results["seeds"] = cli::seeds_json(parsed.seeds(), cli::spreads_of(summaries));
  }
  return results;
}

}  // namespace

std::string train(const std::vector<std::string>& words, const nb::object& listener) {
  try {
    cli::Arguments arguments("train", "");
    cli::TrainOptions parsed;
    parsed.declare(arguments);
    for (const char* name : {"--nproc-per-node", "--max-restarts", "--min_ranks", "--comm_timeout",
                             "--ddp_timeout", "--nnodes"}) {
      arguments.replaced(name, "training by several processes is the program's: hone train");
    }
    std::string answer;
    if (!arguments.parse(words, answer)) return answer;  // help, which hone.train does not ask for
    const train::Options options = parsed.resolve(arguments.common());
    Raised raised;
    std::vector<train::Summary> summaries;
    {
      const nb::gil_scoped_release others_run;
      cli::TrainRuns runs;
      runs.observe = [&] {
        return std::make_unique<ListenedRun>(arguments.common().quiet, listener, raised);
      };
      summaries = cli::run_training(arguments.common(), options, parsed.seeds(), runs);
    }
    if (raised) throw nb::python_error(*raised);
    return cli::json_line(results_of(summaries, parsed));
  } catch (const Error& error) {
    throw Error(error.kind(), cli::with_flags(error));
  }
}

}  // namespace hone::python

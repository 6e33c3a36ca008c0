#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/flag_names.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/rank_options.h"
#include "cli/train_display.h"
#include "cli/train_options.h"
#include "cli/train_runs.h"
#include "comm/run_failed.h"
#include "train/checkpoint.h"
#include "train/results.h"

namespace hone::cli {
namespace {

std::string text_of_seeds(size_t seeds, const Spreads& spreads) {
  std::string text = fmt::format("{} seeds:\n", seeds);
  for (const auto& [name, spread] : spreads) {
    text += fmt::format("  {:<26}{:.4f} +- {:.4f}\n", name, spread.mean(), spread.deviation());
  }
  return text;
}

int interrupted(const train::Summary& summary) {
  fmt::print(stderr, "hone: interrupted; go on from {}\n", summary.last_checkpoint);
  return kInterrupted;
}

/// Trains as one of the ranks; the first one alone prints.
int train_as_rank(const TrainOptions& parsed, const CommonOptions& common,
                  const train::Options& options, comm::Communicator& ranks) {
  const GracefulStop stop;
  TrainRuns runs;
  runs.ranks = &ranks;
  runs.observe = [&] {
    return std::make_unique<TrainDisplay>(common.quiet || !runs.first_rank(),
                                          [&] { return stop.requested(); });
  };
  runs.done = [&](const train::Summary& summary) {
    print(common.json ? json_line(train::to_json(summary)) : text_of(summary));
  };
  const std::vector<train::Summary> summaries = run_training(common, options, parsed.seeds(), runs);
  if (summaries.back().interrupted) {
    return runs.first_rank() ? interrupted(summaries.back()) : kInterrupted;
  }
  if (summaries.size() > 1 && runs.first_rank()) {
    const Spreads spreads = spreads_of(summaries);
    print(common.json ? json_line(seeds_json(parsed.seeds(), spreads))
                      : text_of_seeds(summaries.size(), spreads));
  }
  return kDone;
}

/// Runs `body`; an error of this rank becomes one of all, whose line names rank and host. A mistake
/// of the user's is told by rank 0, which finds it as well as a rule, and then says no more than
/// one process would.
template <typename Body>
int run_for_all(comm::Communicator& ranks, const Body& body) {
  try {
    return body();
  } catch (const comm::RunFailed&) {
    throw;
  } catch (const Error& error) {
    if (ranks.size() == 1) throw;
    const std::string why = with_flags(error);
    const bool mistake = exit_code(error.kind()) == kUserError;
    ranks.stop_all(why, mistake);
    const std::string told = ranks.failure();
    const bool same = told.ends_with(": " + why);
    if (mistake && same && ranks.rank() == 0) throw;
    if (ranks.told_here() || !same) throw Error(error.kind(), same ? told : why);
    comm::let_others_tell();
    return exit_code(error.kind());
  }
}

}  // namespace

int train(const Words& words) {
  Arguments arguments(
      "train", "Fine-tunes a classifier, or trains one from nothing. --help-all shows more.");
  TrainOptions parsed;
  RankOptions several;
  parsed.declare(arguments);
  several.declare(arguments);
  const CommonOptions& common = arguments.common();
  const comm::Launch launch = comm::find_launch();
  train::Options options;
  try {
    std::string answer;
    if (!arguments.parse(words, answer)) {
      print(answer);
      return kDone;
    }
    several.resolve(launch, words);
    options = parsed.resolve(common);
  } catch (const Error& error) {
    if (launch.rank == 0) throw;
    comm::let_others_tell();  // the first rank finds the same fault
    return exit_code(error.kind());
  }
  if (several.launches()) return launch_ranks(several.launch_options(), "train", words);
  const auto ranks = several.open(launch);
  if (launch.restarts > 0 && !train::list_checkpoints(options.output).empty()) {
    options.resume = "last";
  }
  options.parallel.batch_ranks = launch.first_size;
  if (ranks->size() > 1 && options.threads == 0) options.threads = threads_of_rank(*ranks);
  return run_for_all(*ranks, [&] { return train_as_rank(parsed, common, options, *ranks); });
}

}  // namespace hone::cli

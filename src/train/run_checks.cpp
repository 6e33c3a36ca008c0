#include "train/run_checks.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "train/checkpoint.h"
#include "train/corpus.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

/// Refuses ways of sharing a step that contradict each other or the ranks.
void check_parallel(const Options& options, const comm::Communicator& ranks) {
  const ParallelOptions& parallel = options.parallel;
  if (ranks.size() > 1 && parallel.strategy && parallel.strategy != StrategyKind::ddp) {
    fail(ErrorKind::usage, "parallel.strategy: expected ddp, since there are {} ranks",
         ranks.size());
  }
  if (parallel.virtual_ranks > 0 && parallel.virtual_ranks % ranks.size() != 0) {
    fail(ErrorKind::usage, "parallel.virtual_ranks: expected a multiple of the {} ranks, got '{}'",
         ranks.size(), parallel.virtual_ranks);
  }
  if (parallel.balance && parallel.virtual_ranks > 0) {
    fail(ErrorKind::usage, "parallel.balance: virtual ranks have fixed shares; give one of both");
  }
  if (parallel.strategy == StrategyKind::dp && (parallel.balance || parallel.virtual_ranks > 0)) {
    fail(ErrorKind::usage, "parallel.strategy: dp goes without {}",
         parallel.balance ? "`parallel.balance`" : "`parallel.virtual_ranks`");
  }
}

/// Refuses what a self-explaining model does not go together with.
void check_explain(const Options& options) {
  const ExplainOptions& explain = options.explain;
  if (!explain.on) {
    const bool others = explain.mask_phrases > 0 || explain.store_dtype != DType::f32;
    if (explain.trees.empty() && explain.parser.empty() && !others) return;
    fail(ErrorKind::usage, "{}: is of `explain`, which is missing",
         !explain.trees.empty()     ? "explain.trees"
         : !explain.parser.empty()  ? "explain.parser"
         : explain.mask_phrases > 0 ? "explain.mask_phrases"
                                    : "explain.store_dtype");
  }
  const auto refuse = [](bool wanted, const char* field) {
    if (wanted) fail(ErrorKind::unsupported, "{}: not together with `explain`", field);
  };
  refuse(options.data.task == kParseTask, "data.task");
  refuse(options.average_decay > 0, "average_decay");
  refuse(!options.distill.teacher.empty(), "distill.teacher");
  refuse(options.model.exits.has_value(), "model.exits");
  refuse(options.parallel.strategy == StrategyKind::dp, "parallel.strategy");
}

}  // namespace

void check(const Options& options, const comm::Communicator& ranks) {
  if (options.output.empty()) fail(ErrorKind::usage, "output: missing");
  if (options.max_steps == 0) {
    fail(ErrorKind::usage, "max_steps: expected -1 (by epochs) or at least 1, got '0'");
  }
  const StoppingOptions& stopping = options.stopping;
  if (stopping.needs_evaluation() && options.evaluation.kind == Interval::Kind::never) {
    fail(ErrorKind::usage,
         "evaluation: expected steps or epoch, got 'no'; the best model is found by it");
  }
  const bool together = options.evaluation.kind == options.saving.kind &&
                        (options.saving.kind != Interval::Kind::steps ||
                         options.saving.steps % options.evaluation.steps == 0);
  if (stopping.load_best && !together) {
    fail(ErrorKind::usage,
         "saving: expected that of `evaluation`; `stopping.load_best` takes the best of the models "
         "that were saved");
  }
  check_parallel(options, ranks);
  check_explain(options);
}

std::string device_of_rank(const std::string& name, const comm::Communicator& ranks, int64_t gpus) {
  const bool any = name == "auto" || name == "cuda";
  if (!any || gpus < 2 || ranks.ranks_of_host() < 2) return name;
  return fmt::format("cuda:{}", ranks.rank_of_host() % gpus);
}

void check_device(const Options& options, const comm::Communicator& ranks) {
  if (!options.gpu) return;
  if (options.average_decay > 0) {
    fail(ErrorKind::unsupported, "average_decay: the average is kept on the processor alone");
  }
  if (options.optimizer.kind == optim::OptimizerKind::adafactor) {
    fail(ErrorKind::unsupported, "optimizer: adafactor is of the processor; use adamw_8bit");
  }
  if (options.parallel.strategy == StrategyKind::dp) {
    fail(ErrorKind::unsupported, "parallel.strategy: dp is of devices of the processor; use ddp");
  }
  if (options.parallel.virtual_ranks > 0) {
    fail(ErrorKind::unsupported, "parallel.virtual_ranks: not on a GPU");
  }
  if (options.batch.find_size && ranks.size() > 1) {
    fail(ErrorKind::unsupported, "batch.find_size: not with several ranks on GPUs");
  }
}

void prepare_output(const Options& options) {
  const std::vector<std::string> old = list_checkpoints(options.output);
  const bool used = !old.empty() || file_exists(options.output + "/model.safetensors") ||
                    file_exists(options.output + "/adapter_model.safetensors");
  if (!options.train || !used || !options.resume.empty()) return;
  if (!options.overwrite) {
    fail(ErrorKind::usage,
         "output: {} holds an earlier run; go on with `resume` last, or give `overwrite`",
         quote(options.output));
  }
  std::error_code error;
  if (fs::equivalent(options.output, options.model.model, error)) {
    fail(ErrorKind::usage, "output: {} is the model itself", quote(options.output));
  }
  for (const std::string& folder : old) remove_checkpoint(folder);
  fs::remove_all(options.output + "/runs", error);
}

int64_t devices_of(const Options& options, const comm::Communicator& ranks) {
  return options.parallel.strategy == StrategyKind::dp ? options.parallel.devices : ranks.size();
}

int64_t batch_devices_of(const Options& options, const comm::Communicator& ranks) {
  const int64_t counted = options.parallel.batch_ranks;
  const bool by_ranks = options.parallel.strategy != StrategyKind::dp;
  return by_ranks && counted > 0 ? counted : devices_of(options, ranks);
}

}  // namespace hone::train

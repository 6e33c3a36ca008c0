#include "cli/train_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "device/memory.h"
#include "train/results.h"

namespace hone::cli {
namespace {

constexpr double kRedraw = 0.2;    // seconds
constexpr double kPlainLine = 10;  // seconds
constexpr int kBarWidth = 20;

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0., seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string line_of(const train::Progress& at) {
  return fmt::format(
      "step {}/{}, epoch {:.2f}, loss {:.4f}, rate {:.2e}, {:.0f} samples/s, {:.0f} tokens/s, "
      "{}{} left, {}",
      at.step, at.steps, at.epoch, at.loss, at.learning_rate, at.samples_per_second,
      at.tokens_per_second,
      at.share_of_peak > 0 ? fmt::format("{:.0f}% of peak, ", 100 * at.share_of_peak) : "",
      duration(at.seconds_left), train::megabytes(peak_resident_bytes()));
}

std::string bar_of(const train::Progress& at) {
  const auto full = static_cast<size_t>(kBarWidth * at.step / std::max<int64_t>(1, at.steps));
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "] ";
}

std::string value_of(const std::string& name, double value) {
  return name == "learning_rate" ? fmt::format("{} {:.2e}", name, value)
                                 : fmt::format("{} {:.4f}", name, value);
}

struct Row {
  const char* name;
  double seconds;
};

}  // namespace

TrainDisplay::TrainDisplay(bool quiet, std::function<bool()> stop_requested)
    : quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      stop_requested_(std::move(stop_requested)) {}

TrainDisplay::~TrainDisplay() { erase(); }

void TrainDisplay::erase() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void TrainDisplay::say(const std::string& line) {
  if (quiet_) return;
  erase();
  fmt::print(stderr, "{}\n", line);
}

void TrainDisplay::warn(const std::string& line) { say("warning: " + line); }

void TrainDisplay::progress(const train::Progress& at) {
  if (quiet_ || watch_.seconds() < next_) return;
  next_ = watch_.seconds() + (terminal_ ? kRedraw : kPlainLine);
  if (terminal_) {
    fmt::print(stderr, "\r{}{}\033[K", bar_of(at), line_of(at));
    drawn_ = true;
  } else {
    fmt::print(stderr, "{}\n", line_of(at));
  }
}

void TrainDisplay::logged(const train::LogEntry& entry) {
  std::string line = fmt::format("step {}, epoch {:.2f}:", entry.step, entry.epoch);
  const char* separator = " ";
  for (const auto& [name, value] : entry.values) {
    line += separator + value_of(name, value);
    separator = ", ";
  }
  say(line);
}

std::string text_of(const train::Summary& summary) {
  const train::StageTimes& stages = summary.stages;
  const double wall = stages.wall();
  using train::Stage;
  const Row rows[] = {{"loading", stages[Stage::loading]},
                      {"forward", stages[Stage::forward]},
                      {"loss+backward", stages[Stage::backward]},
                      {"evaluation", stages[Stage::evaluation]},
                      {"other: optimiser", stages[Stage::optimizer]},
                      {"other: checkpoint", stages[Stage::checkpoint]},
                      {"other: logging", stages[Stage::logging]},
                      {"other: rest", wall - stages.accounted()}};
  std::string out =
      fmt::format("{}: {} steps, {:.2f} epochs, {} samples, {} tokens{}\n", summary.output,
                  summary.steps, summary.epochs, summary.samples, summary.tokens,
                  summary.interrupted     ? ", interrupted"
                  : summary.stopped_early ? ", stopped early"
                                          : "");
  out += fmt::format("  {:<26}{:.4f}\n", "train loss", summary.train_loss);
  for (const auto& [name, value] : summary.evaluation) {
    out += fmt::format("  {:<26}{:.4f}\n", name, value);
  }
  if (summary.best) {
    out += fmt::format("  {:<26}{:.4f} at step {}\n", "best", *summary.best, summary.best_step);
  }
  for (const Row& row : rows) {
    out += fmt::format("  {:<26}{:8.2f} s {:5.1f}%\n", row.name, row.seconds,
                       100 * row.seconds / std::max(wall, 1e-9));
  }
  out += fmt::format("  {:<26}{:8.2f} s\n", "wall", wall);
  out += fmt::format("  {:<26}{:.2f}% of the training time\n", "waiting for data",
                     100 * summary.waiting_share);
  if (summary.checkpoint_background_seconds > 0) {
    out += fmt::format("  {:<26}{:8.2f} s beside the steps\n", "writing checkpoints",
                       summary.checkpoint_background_seconds);
  }
  if (summary.ranks > 1) {
    out += fmt::format("  {:<26}{:8.2f} s exposed of {:.2f} s on this rank, {} sent\n",
                       fmt::format("{} ranks", summary.ranks), summary.communication.exposed,
                       summary.communication.busy, train::megabytes(summary.communication_bytes));
  }
  if (summary.gpu_idle_share) {
    out += fmt::format("  {:<26}{:.2f}% of the steps' time\n", "GPU idle",
                       100 * *summary.gpu_idle_share);
  }
  out += fmt::format(
      "  {:<26}weights {}, gradients {}, optimiser {}, activations {}\n", "memory",
      train::megabytes(summary.memory.weights), train::megabytes(summary.memory.gradients),
      train::megabytes(summary.memory.optimizer), train::megabytes(summary.memory.activations));
  if (summary.full) {
    out += fmt::format("  {:<26}{} of {} ({:.0f}%), {:.0f}% of the arithmetic\n",
                       "against full fine-tuning", train::megabytes(summary.memory.total()),
                       train::megabytes(summary.full->memory.total()),
                       100. * static_cast<double>(summary.memory.total()) /
                           static_cast<double>(summary.full->memory.total()),
                       100 * summary.full->flops_share);
  }
  return out + fmt::format("  {:<26}{}\n", "peak memory", train::megabytes(summary.peak_bytes));
}

}  // namespace hone::cli

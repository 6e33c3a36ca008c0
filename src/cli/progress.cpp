#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

namespace hone::cli {
namespace {

constexpr double kRedraw = 0.2;     // seconds
constexpr double kPlainLine = 5;    // seconds
constexpr double kBotherAfter = 1;  // a terminal is not bothered earlier

}  // namespace

Progress::Progress(std::string what, std::string unit, bool quiet)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      shown_(!quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(terminal_ ? kBotherAfter : kPlainLine) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(int64_t count) {
  if (!shown_) return;
  const double seconds = watch_.seconds();
  if (seconds < next_) return;
  next_ = seconds + (terminal_ ? kRedraw : kPlainLine);
  const double rate = static_cast<double>(count) / seconds;
  fmt::print(stderr, "{}{}: {} {}, {:.0f} s, {:.0f}/s{}", terminal_ ? "\r" : "", what_, count,
             unit_, seconds, rate, terminal_ ? "\033[K" : "\n");
  drawn_ = terminal_;
}

void warn(bool quiet, const std::string& message) {
  if (!quiet) fmt::print(stderr, "hone: {}\n", message);
}

}  // namespace hone::cli

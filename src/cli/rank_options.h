#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/arguments.h"
#include "cli/launcher.h"
#include "comm/world.h"

namespace hone::cli {

/// The words about ranks, in torchrun's spelling.
class RankOptions {
 public:
  void declare(Arguments& arguments);
  /// Says what the words mean for a process that was started so; contradictions are usage errors.
  void resolve(const comm::Launch& launch, const Words& words);
  /// Whether this process is to start the ranks rather than be one.
  bool launches() const { return launches_; }
  const LaunchOptions& launch_options() const { return launch_; }
  /// Opens the communicator. Where another rank is lost and this one does not end by itself, the
  /// process ends with exit code 1.
  std::unique_ptr<comm::Communicator> open(const comm::Launch& launch) const;

 private:
  LaunchOptions launch_;
  int64_t asked_ = 0;
  bool launches_ = false;
  double timeout_ = 60;
  bool no_overlap_ = false;
  std::string nodes_;
};

/// The threads of a rank where none were asked for: those that may run on the same cores share
/// them.
int threads_of_rank(comm::Communicator& ranks);

}  // namespace hone::cli

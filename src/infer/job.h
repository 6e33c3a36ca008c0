#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "infer/session.h"

namespace hone::infer {

using Clock = std::chrono::steady_clock;

/// The seconds of a job; their sum is the time from submit() to its answer.
struct JobTimes {
  double queue = 0;         ///< wait until its first input was taken to be encoded
  double tokenization = 0;  ///< encoding, of all inputs that went together with its own
  double inference = 0;     ///< the rest; a job of many batches also waits between them
};

struct JobResult {
  std::vector<Answer> answers;    ///< one an input, in order; empty on an error
  std::exception_ptr error = {};  ///< an Error, JobLate, JobAbandoned or JobUnserved
  JobTimes times = {};
};

/// The job's deadline passed before it was computed.
struct JobLate : std::exception {
  const char* what() const noexcept override { return "the deadline passed"; }
};
/// The job's client had gone before it was computed.
struct JobAbandoned : std::exception {
  const char* what() const noexcept override { return "the client has gone"; }
};
/// Every worker's device has failed for good.
struct JobUnserved : std::exception {
  const char* what() const noexcept override { return "no device is left that works"; }
};

/// Inputs that are answered together.
struct Job {
  std::vector<Input> inputs;                   ///< texts or pairs, or ...
  std::vector<std::vector<int32_t>> ids = {};  ///< ... token ids, special ones included
  std::shared_ptr<const void> texts = {};      ///< holds what `inputs` points into
  bool truncate = true;                        ///< false: a longer input is the job's error
  bool truncate_left = false;  ///< whether the begin of a longer text is cut, not its end
  bool token_vectors = false;  ///< whether answers are Session::answer_tokens()
  /// Where not null, values are written here, a row of the session's output width an input, and not
  /// into the answers. What holds `texts` holds these, too.
  float* rows = nullptr;
  Clock::time_point deadline = Clock::time_point::max();
  /// Says whether nobody waits any more; workers ask it before they encode, without holding a lock.
  /// It may be empty.
  std::function<bool()> abandoned = {};
  /// Gets the result, once: from a worker, or from submit() itself where there is nothing to
  /// compute. It must return soon and not throw.
  std::function<void(JobResult result)> done = {};

  bool may_be_gone() const { return deadline != Clock::time_point::max() || abandoned; }
  size_t size() const { return ids.empty() ? inputs.size() : ids.size(); }
};

}  // namespace hone::infer

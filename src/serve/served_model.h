#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "infer/job_queue.h"
#include "infer/session.h"

namespace hone::serve {

using Clock = infer::Clock;
using infer::finite;
using infer::Job;
using infer::JobAbandoned;
using infer::JobLate;
using infer::JobResult;
using infer::JobTimes;
using infer::JobUnserved;

struct ModelSettings {
  std::string folder;
  infer::SessionOptions session;               ///< `device` of each worker comes from `devices`
  std::vector<std::string> devices = {"cpu"};  ///< one worker each, fed by one queue
  int64_t max_batch_tokens = 16384;
  int64_t max_batch_requests = 0;  ///< inputs of a batch; 0: no limit
  int64_t max_queue_inputs = 512;  ///< inputs that wait or are computed
  int64_t max_queue_tokens = 0;    ///< tokens of those; 0: what max_queue_inputs allows
  /// Most seconds that those take, as measured; 0: any. Some inputs are taken whatever they take.
  double max_queue_seconds = 0;
  RunSink* sink = nullptr;  ///< hears of every step of every worker; must outlive the model
};

/// A model that answers jobs: a bounded queue and a worker a device. Any thread may call it.
class ServedModel {
 public:
  /// Loads the folder and runs a forward pass; what goes wrong is thrown.
  explicit ServedModel(const ModelSettings& settings);
  /// Ends the model when it has answered what it accepted.
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  using Admission = infer::JobQueue::Admission;
  /// Queues the job, or refuses it at once where the queue is full; `done` is not called then.
  /// Where no device works any more, `done` is called with JobUnserved.
  Admission submit(Job job);

  /// Gives the session for what never changes in it: folder, config, processor, max_units(). All
  /// else belongs to a worker, which may open it anew.
  const infer::Session& session() const;
  const ModelSettings& settings() const;
  /// Says whether the last forward pass of some worker worked; a worker whose device failed for
  /// good is no longer fed. Where none has run for a second, one is run and waited for.
  bool ready();

  using Load = infer::JobQueue::Load;
  using Counts = infer::JobQueue::Counts;
  Load load() const;
  Counts counts() const;
  /// Tells `heard` of every batch that starts: its inputs, its tokens. Each worker calls it in its
  /// own thread. It is set before the first submit().
  void on_batch(std::function<void(int64_t inputs, int64_t tokens)> heard);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone::serve

#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "infer/job_queue.h"
#include "infer/session_worker.h"

namespace hone::infer {

/// A session that several threads ask at one time: a queue without a limit, and one worker.
class RequestQueue {
 public:
  /// Opens the session; its errors are thrown here. The sink, where there is one, must outlive
  /// this.
  RequestQueue(const std::string& model, const SessionOptions& options, RunSink* sink);
  ~RequestQueue();
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  /// Gives the answers to come, in the order of the inputs. The texts must stay until they are
  /// there; `texts` may hold them until then. Any thread may call it.
  std::future<std::vector<Answer>> ask(std::vector<Input> inputs,
                                       std::shared_ptr<const void> texts = nullptr);
  /// Does the same for a job whose `done` is set here. Where it is abandoned, the future gets
  /// JobAbandoned.
  std::future<std::vector<Answer>> submit(Job job);
  /// Stops: waiting requests get an error, and so does what is asked later.
  void stop();

  /// Gives the session for what never changes in it: folder, config, processor.
  const Session& session() const { return worker_.session(); }

  struct Times {
    int64_t requests = 0;  ///< requests that were answered
    double busy = 0;       ///< seconds in which there was something to do
    double encode = 0;     ///< seconds of `busy` spent on encoding
  };
  /// Calls `read` while the session does nothing, so that it may read what the sink has.
  void while_idle(const std::function<void(const Times& times)>& read) const;

 private:
  JobQueue queue_;
  SessionWorker worker_;
};

}  // namespace hone::infer

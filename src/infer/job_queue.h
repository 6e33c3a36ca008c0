#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "infer/job.h"

namespace hone::infer {

/// A job from its admission to its end.
struct QueuedJob {
  Job job;
  Clock::time_point submitted;
  std::vector<Answer> answers = {};     ///< each is written by the worker that has its input
  std::atomic<size_t> unanswered = {};  ///< inputs; the worker that answers the last ends the job

  // The queue's lock guards the members below.
  size_t taken = 0;            ///< inputs that workers have, or had
  int64_t waiting_tokens = 0;  ///< tokens of the others, estimated
  Clock::time_point first_taken = {};
  double tokenization = 0;
  bool counted = true;  ///< whether Counts has it
  bool ended = false;
  std::list<std::shared_ptr<QueuedJob>>::iterator place =
      {};  ///< its place in the queue while `waits`
  bool waits = false;
};
using QueuedJobPtr = std::shared_ptr<QueuedJob>;

/// Neighbouring inputs of a job that a worker took, or what it has left of them.
struct Slice {
  QueuedJobPtr job;
  size_t first = 0;
  size_t count = 0;
  int64_t tokens = 0;  ///< estimated until they are encoded
};

/// Jobs that wait for workers, which take about a batch of inputs at a time: of several small jobs,
/// or a part of a large one, whose rest goes behind the others. Any thread may call it. Its users
/// see to it that every slice that was taken is either answered or given back.
class JobQueue {
 public:
  struct Limits {
    int64_t inputs = 0;      ///< inputs that wait or are computed; 0: no limit
    int64_t tokens = 0;      ///< tokens of those; 0: no limit
    int64_t max_length = 0;  ///< tokens that an input is cut to; 0: not known
    double seconds = 0;      ///< time that those take, as the last batches did; 0: no limit
    int64_t any_time = 0;    ///< inputs that are taken whatever time they need
  };
  struct Admission {
    bool accepted = false;
    double retry_after = 0;  ///< seconds in which there may be room, where it was not
  };
  struct Load {
    int64_t inputs = 0;            ///< inputs that wait
    int64_t tokens = 0;            ///< tokens of those, estimated
    int64_t computing = 0;         ///< inputs that workers have
    int64_t computing_tokens = 0;  ///< tokens of those
    int workers = 0;               ///< workers that are fed
  };
  /// Numbers of jobs since the begin. A job that was accepted is in one other number when it ends.
  struct Counts {
    int64_t accepted = 0;
    int64_t refused = 0;  ///< jobs that there was no room for
    int64_t answered = 0;
    int64_t failed = 0;  ///< jobs that ended with any other error
    int64_t late = 0;
    int64_t abandoned = 0;
  };

  JobQueue() : checked_(jobs_.end()) {}
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;
  /// Sets the limits, before the first submit().
  void set_limits(const Limits& limits);

  /// Queues a job, or refuses it at once where there is no room for it; `done` is not called then.
  /// Tokens are estimated from bytes. A job that is larger than the limits fits where nothing else
  /// is there. A queue that was closed is an error.
  Admission submit(Job job);
  /// Queues a job in front of the others, whether there is room or not; it is not counted.
  void submit_first(Job job);

  /// Closes the queue: nothing more goes in; workers take what is there, and then end.
  void close();
  /// Closes the queue; jobs that wait end with the error.
  void stop(const Error& error);

  Load load() const;
  Counts counts() const;

  /// The most that a worker takes at a time.
  struct Portion {
    int64_t tokens = 0;
    int64_t inputs = 0;  ///< 0: no limit
  };
  /// Gives a worker its next inputs; jobs that are late or abandoned end here. Waits where there
  /// are none and `wait` is true; empty then: the queue is closed.
  std::vector<Slice> take(const Portion& portion, bool wait);
  /// Corrects the estimate of a slice whose inputs were encoded in `seconds` and have `tokens`.
  /// False: their job has ended, and nobody wants the answers.
  bool note_encoded(Slice& slice, int64_t tokens, double seconds);
  /// Gives back the room of inputs that their worker did not answer.
  void release(int64_t inputs, int64_t tokens);
  /// Gives back the room of inputs that a worker answered in `seconds`.
  void release_answered(int64_t inputs, int64_t tokens, double seconds);
  /// Ends a job whose last input has been answered.
  void finish(QueuedJob& job);
  /// Ends a job with a copy of the error, if it did not end before.
  void refuse(QueuedJob& job, const Error& error);
  void add_worker();
  /// Notes that a worker takes nothing any more. Where it was the last, jobs that wait end as
  /// JobUnserved, and so do later ones.
  void remove_worker();

 private:
  using Counter = int64_t Counts::*;
  using MakeError = FunctionRef<std::exception_ptr()>;
  QueuedJobPtr make(Job job) const;
  /// Queues the job where there is room, or where it goes first.
  Admission admit(const QueuedJobPtr& job, bool first);
  bool has_room(const QueuedJob& job) const;
  double seconds_until_room(const QueuedJob& job) const;
  /// Gives the time that so many tokens take all workers; 0: nothing has been measured.
  double seconds_for(int64_t tokens) const;
  int64_t estimate(const Job& job, size_t input) const;
  std::vector<Slice> take_waiting(const Portion& portion);
  Slice slice_off(const QueuedJobPtr& job, int64_t tokens, int64_t inputs);
  /// Takes a job out of the list.
  void leave(QueuedJob& job);
  /// Ends some of the jobs that are late or abandoned, and in time all.
  void end_gone_jobs();
  void drop_gone_slices(std::vector<Slice>& lot);
  bool end_if_gone(QueuedJob& job, Clock::time_point now);
  void end_waiting(MakeError make_error);
  /// Each job gets an exception of its own, which no two threads then share.
  void end(QueuedJob& job, MakeError make_error, Counter counter);

  Limits limits_;
  mutable std::mutex mutex_;  ///< guards the members below
  std::condition_variable asked_;
  std::list<QueuedJobPtr> jobs_;               ///< jobs with inputs that no worker has
  std::list<QueuedJobPtr>::iterator checked_;  ///< the place where end_gone_jobs() goes on
  int64_t watched_ = 0;                        ///< jobs of the list that may become late or gone
  Load load_;
  Counts counts_;
  struct {
    double seconds = 0;
    double inputs = 0;
    double tokens = 0;
  } rate_;  ///< sums over the last batches, the older ones less
  bool closed_ = false;
  std::atomic<bool> unserved_ = false;  ///< whether all workers were lost; written under the lock
};

}  // namespace hone::infer

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "infer/batch_runner.h"
#include "infer/job_queue.h"

namespace hone::infer {

/// A thread with a session that answers the jobs of a queue. What waits at one time is packed
/// together, and a batch is started early only where nothing else waits. On a GPU the next batches
/// are encoded and packed while one computes.
class SessionWorker {
 public:
  struct Options {
    SessionOptions session;
    int64_t max_batch_tokens = 0;  ///< 0: as many as are efficient
    int64_t max_batch_inputs = 0;
    bool first_pass = false;  ///< whether a forward pass must work before opened() returns
    RunSink* sink = nullptr;  ///< hears of every step; must outlive this. It may be null.
    /// Hears of each batch before it starts: its inputs and tokens. It may be empty.
    std::function<void(int64_t inputs, int64_t tokens)> on_batch = {};
  };
  /// Opens the session in the worker's thread. The queue must outlive this.
  SessionWorker(JobQueue& queue, const std::string& model, Options options);
  /// The queue has to be closed before. What the worker has taken is answered.
  ~SessionWorker();
  SessionWorker(const SessionWorker&) = delete;
  SessionWorker& operator=(const SessionWorker&) = delete;

  /// Waits until the session is open; throws why it is not. It is called once, before all else.
  void opened();
  /// Waits for the end of the thread, after the queue was closed.
  void join();

  /// Gives the session for what never changes in it: folder, config, processor.
  const Session& session() const { return *session_; }
  /// Gives the seconds since the last forward pass that worked; negative: the last one failed.
  double since_good_pass() const;
  /// Gives the seconds since the batch under way was started; 0: there is none.
  double under_way() const;

  struct Times {
    int64_t jobs = 0;   ///< jobs whose last input was answered here
    double busy = 0;    ///< seconds in which there was something to do
    double encode = 0;  ///< seconds of `busy` spent on encoding
  };
  /// Calls `read` while the session does nothing, so that it may read what the sink has.
  void while_idle(const std::function<void(const Times& times)>& read) const;

 private:
  /// An input that is packed or under way.
  struct Packed {
    QueuedJobPtr job;
    size_t input;
    int64_t tokens;
  };
  using Samples = std::vector<data::EncodedSample>;

  void run(const std::string& model);
  void prepare();
  std::vector<Slice> take();
  void work();
  /// Encodes a lot and packs it; batches that are full meanwhile are settled.
  void add(std::span<Slice> lot);
  void add_alike(std::span<Slice> slices);
  const Samples& encode(std::span<const Slice> slices);
  /// Each of these takes what it has dealt with off its slice.
  void add_samples(Slice& slice, std::span<const data::EncodedSample> samples, double seconds);
  void pack(Slice& slice, const data::EncodedSample& sample);
  void answer_bounded(Slice& slice, std::span<const data::EncodedSample> samples, double seconds);
  void drop(Slice& slice);
  void refuse(Slice& slice, const Error& error);
  void start_batch();
  /// Waits for the oldest batch and hands its answers out.
  void settle();
  /// Gives the place of an input's values in the job's rows; null where it has none.
  float* row_of(const QueuedJob& job, size_t input) const;
  void take_answer(const QueuedJobPtr& job, size_t input, Answer answer);
  /// Ends the jobs that take_answer() completed, and gives back the room of a batch.
  void end_batch(int64_t inputs, int64_t tokens, double seconds);
  void run_first_pass();
  /// Gives the jobs in work the error of the device, and opens the session anew. False: it cannot
  /// be opened, or the new one has failed, too.
  bool recover(std::span<Slice> lot, const Error& error);

  JobQueue& queue_;
  const Options options_;
  JobQueue::Portion portion_;
  std::promise<void> opened_;

  mutable std::mutex session_mutex_;  ///< guards the members up to reopened_, for while_idle()
  std::unique_ptr<Session> session_;
  std::unique_ptr<BatchRunner> runner_;
  std::deque<Packed> packed_;
  std::deque<Clock::time_point> started_;  ///< one entry for each batch under way
  Clock::time_point settled_ = {};         ///< the time when the last batch was settled
  std::vector<QueuedJobPtr> finished_;     ///< jobs that the batch at hand completes
  std::vector<Input> inputs_;
  std::vector<std::vector<int32_t>> ids_;
  Times times_;
  bool reopened_ = false;  ///< whether no batch has worked since the session was opened anew

  static constexpr int64_t kNever = -1;
  std::atomic<int64_t> good_pass_ = kNever;  ///< its end in ticks of the clock
  std::atomic<int64_t> batch_start_ = kNever;
  std::thread thread_;  ///< the last member, because it uses the others
};

}  // namespace hone::infer

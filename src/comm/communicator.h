#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/collective.h"
#include "comm/watch.h"

/// What several processes that train one model say to each other.
namespace hone::comm {

class Exchange;

struct Options {
  WatchOptions watch = {};
  /// Whether sums run in a thread of their own while the caller computes; without it they run when
  /// they are waited for.
  bool overlap = true;
};

/// Where the time went, since the communicator was made.
struct Times {
  double exposed = 0;  ///< seconds that callers waited for collectives
  double busy = 0;     ///< seconds that collectives took, waiting for other ranks included
};

/// The ranks of a run. All of them call the same collectives in the same order, each from one
/// thread at a time; number, step, kind and size are compared, and ranks that differ get an error
/// that names both. A rank that ends, falls silent or fails is an error of kind failed on all
/// others (RunFailed), at their next call or in the one that they wait in. Errors are final: what
/// comes behind one fails with it.
class Communicator {
 public:
  /// One process by itself: sums change nothing, and nobody is waited for.
  Communicator();
  /// Ranks of one host that share memory (HostMemory::create). Waits until all of them are here.
  Communicator(int descriptor, int rank, int size, const Options& options = {});
  explicit Communicator(std::unique_ptr<Exchange> exchange, Options options = {});
  /// Waits for the sums that were started. While an exception passes through, the others are told
  /// that this rank failed.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  /// The host of each rank.
  const std::vector<std::string>& hosts() const;
  /// This rank's number among those of its host, and how many those are.
  int rank_of_host() const;
  int ranks_of_host() const;

  /// Sets the training step that collectives from now on belong to.
  void set_step(int64_t step) { step_ = step; }
  int64_t step() const { return step_; }

  /// Memory that lives as long as this, begins with zeros and is aligned to 64 bytes; where ranks
  /// share a host, they share it, and sums of what lies in it need no copy. A collective: all ranks
  /// ask for the same number of bytes.
  void* window(size_t bytes);

  /// A sum that was started; they end in the order in which they were started.
  using Ticket = int64_t;
  /// Starts data[i] = sum over all ranks of data[i], added in one order, so that all ranks get the
  /// same bits, in every run with as many ranks on as many hosts. The data is the communicator's
  /// until wait().
  Ticket start_sum(float* data, int64_t count);
  /// Waits for the sum, and runs it itself where it has not begun.
  void wait(Ticket ticket);

  void sum(std::span<float> data) { wait(start_sum(data.data(), std::ssize(data))); }
  void sum(std::span<double> data);
  /// Gives what each rank has, by rank.
  std::vector<std::string> gather(std::string_view own);
  /// Sets data on all ranks to that of rank `root`.
  void broadcast(void* data, size_t bytes, int root = 0);
  /// Gives text of rank `root` on all ranks.
  std::string broadcast(const std::string& text, int root = 0);
  void barrier();
  /// Whether it is so on one rank at least.
  bool any(bool here);

  /// Tells all ranks that this one fails, with its reason, which becomes their error. Gives false
  /// and does nothing where the run has failed already. Of a reason that others find as well, as
  /// they do a mistake in a file that all read, rank 0 tells the user; else this one does.
  bool stop_all(const std::string& why, bool found_by_others = false);
  /// Gives the reason for which the run has failed; empty where it has not.
  std::string failure() const;
  /// Says whether this rank is the one to tell the user of failure().
  bool told_here() const;
  /// Fails the run for all ranks with a reason that all of them find, and throws RunFailed; rank 0
  /// tells the user.
  [[noreturn]] void fail_run(const std::string& why) const;

  Times times() const;

 private:
  struct Operation {
    Collective collective;
    void* data = nullptr;
    std::string_view own = {};
    std::vector<std::string>* gathered = nullptr;
  };

  Ticket start(Operation operation);
  void run_next();
  void progress();
  bool done(Ticket ticket) const;

  std::unique_ptr<Exchange> exchange_;
  const Options options_;
  int64_t step_ = 0;

  std::mutex running_;        ///< is held by the thread that runs a collective
  mutable std::mutex mutex_;  ///< guards all members below
  std::condition_variable started_;
  std::deque<Operation> queue_;
  int64_t last_ = 0;      ///< number of collectives that were started
  int64_t finished_ = 0;  ///< number of those that have ended
  std::exception_ptr error_;
  Times times_;
  bool stop_ = false;
  std::thread thread_;  ///< the last member, since it uses the others
};

}  // namespace hone::comm

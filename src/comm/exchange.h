#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/collective.h"
#include "comm/link.h"
#include "comm/places.h"
#include "comm/watch.h"

namespace hone::comm {

/// How collectives are carried out between ranks. One thread at a time calls it.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual const std::vector<std::string>& hosts() const = 0;  ///< by rank
  virtual int rank_of_host() const = 0;
  virtual int ranks_of_host() const = 0;

  /// The place of data in the windows, to be compared; -1: in none.
  virtual int64_t place_of(const void* data, size_t bytes) const = 0;
  /// Begins a collective: all ranks are at it, or it is an error.
  virtual void meet(const Collective& collective) = 0;
  virtual void* window(const Collective& collective) = 0;
  virtual void sum(const Collective& collective, void* data) = 0;
  virtual void gather(const Collective& collective, std::string_view own,
                      std::vector<std::string>& all) = 0;
  virtual void broadcast(const Collective& collective, void* data) = 0;

  /// Gives whether it is the first reason. One that others find as well is told by rank 0.
  virtual bool stop_all(const std::string& why, bool found_by_others) = 0;
  /// Fails the run with a reason that all ranks find, and throws; rank 0 tells the user.
  virtual void fail_run(const std::string& why) = 0;
  virtual std::string failure() const = 0;
  virtual bool told_here() const = 0;
  virtual void check() const = 0;  ///< throws where the run has failed
  virtual void leave() = 0;
};

/// One process by itself.
std::unique_ptr<Exchange> make_single_exchange();
/// Ranks of one host that share memory.
std::unique_ptr<Exchange> make_host_exchange(int descriptor, int rank, int size,
                                             const WatchOptions& options);
/// Ranks of any hosts, joined by a link; those with one machine share memory. Waits until all of
/// them are here. With `loopback` hosts reach each other on this one alone.
std::unique_ptr<Exchange> make_link_exchange(std::unique_ptr<Link> link, const Origin& origin,
                                             const WatchOptions& options, bool loopback = false);

}  // namespace hone::comm

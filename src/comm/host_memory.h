#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/collective.h"

namespace hone::comm {

/// Memory that the ranks of one host share: a place for each to say where it is, and windows. It is
/// a file without a name, which goes with the last process that has it open, however that ends.
class HostMemory {
 public:
  /// A rank as the others of its host see it.
  struct alignas(128) Slot {
    std::atomic<uint32_t> arrived{0};  ///< counts the meetings that the rank has come to
    std::atomic<uint32_t> waiters{0};  ///< counts who sleeps until it comes to the next
    std::atomic<int32_t> process{0};   ///< 0: it has not come yet
    std::atomic<uint32_t> left{0};     ///< whether it has ended as it should
    std::atomic<int64_t> beat{0};      ///< host_clock() of the last sign of life
    /// A rank may have announced its next collective while others still read its last one.
    SharedCollective announced[2];
    std::atomic<uint32_t> latest{0};  ///< the index of that which it is in
  };

  /// A window of each rank, one behind the other.
  struct Window {
    char* base = nullptr;
    size_t stride = 0;  ///< bytes from a rank's part to the next one's
    size_t bytes = 0;   ///< bytes that a rank may use
  };

  /// Makes the memory of a host with so many ranks; gives its descriptor, which is inherited by
  /// processes that are forked, but not by programs that are started.
  static int create(int ranks);

  /// Opens the memory as the host's rank `index`, whose number among all ranks is ranks[index]. The
  /// descriptor is duplicated. One that is no such memory is an error.
  HostMemory(int descriptor, int index, std::vector<int> ranks, std::string host);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  int index() const { return index_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::string& host() const { return host_; }
  int rank_of(int index) const { return ranks_[static_cast<size_t>(index)]; }
  Slot& slot(int index) const;
  /// The clock when the memory was made, from which ranks that have not come are silent.
  int64_t created() const;

  /// Waits until all ranks of the host have announced this collective. Ranks that announce another
  /// one, that have ended, or that have failed are an error.
  void meet(const Collective& collective);
  /// Waits until all ranks of the host have come here.
  void meet();
  /// What the rank announced for the collective under way.
  Collective announced(int index) const;
  /// Gives the collective that the rank was last seen in.
  Collective last_of(int index) const;

  /// Adds a window for each rank; all ranks of the host do it together.
  const Window& add_window(size_t bytes);
  /// The part of a window, the number of bytes from the beginning of all windows included, that
  /// `data` lies in; -1 where it is in none.
  int64_t place_of(const void* data, size_t bytes) const;
  /// Gives the address of a place in the window of another rank of the host.
  void* at(int64_t place, int index) const;

  /// Who tells the user why the run has failed: this rank; a rank of another host; or rank 0, where
  /// all ranks find the same reason.
  enum class Teller { here, elsewhere, rank_0 };

  /// Tells all ranks of the host that the run has failed and why; the first to say so is heard.
  /// Gives whether this was it.
  bool fail_all(const std::string& why, Teller teller = Teller::here);
  /// The reason that fail_all() was called with, here or elsewhere; empty where it was not.
  std::string failure() const;
  /// Says whether this rank is to tell the user of failure().
  bool told_here() const;
  /// Says whether another host has to have failure() told by rank 0.
  bool left_to_rank_0() const;
  /// Throws RunFailed where failure() is not empty.
  void check() const;
  /// Fails the run for all and throws.
  [[noreturn]] void fail_run(const std::string& why, Teller teller = Teller::here);
  /// Says that this rank ends as it should: who waits for it is told, who does not is left alone.
  void leave();

 private:
  struct Header;
  void wait_for(int index, uint32_t meeting);
  void wake(int index) const;
  void compare(const Collective& own);

  int descriptor_ = -1;
  int index_;
  std::vector<int> ranks_;
  std::string host_;
  Header* header_ = nullptr;
  size_t header_bytes_ = 0;
  size_t used_ = 0;  ///< bytes of the file
  uint32_t meeting_ = 0;
  std::vector<Window> windows_;
};

/// Gives "rank 2 on n3".
std::string name_of(int rank, const std::string& host);

}  // namespace hone::comm

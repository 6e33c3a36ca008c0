#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace hone::comm {

enum class Kind : int32_t { none, barrier, sum_floats, sum_doubles, gather, broadcast, window };

/// What a rank is about to do together with the others. All ranks go through the same collectives
/// in the same order; the fields of one are compared, so that ranks that have come apart are told
/// instead of waiting for each other.
struct Collective {
  int64_t number = 0;  ///< counts from 1
  int64_t step = 0;    ///< the training step that it belongs to
  Kind kind = Kind::none;
  int32_t root = 0;    ///< the rank that a broadcast comes from
  int64_t bytes = 0;   ///< may differ by rank in a gather alone
  int64_t place = -1;  ///< the data's place in the windows; -1: it lies in none
};

/// Says whether two ranks are in the same collective.
bool match(const Collective& a, const Collective& b);

/// Gives "sum of 1.5 MB (collective 17, step 3)"; "no collective yet" of an empty one.
std::string describe(const Collective& collective);

/// A collective that other processes read while it is replaced; they use its parts for messages.
class SharedCollective {
 public:
  void store(const Collective& from);
  Collective load() const;

 private:
  std::atomic<int64_t> number_{0}, step_{0}, bytes_{0}, place_{0};
  std::atomic<int32_t> kind_{0}, root_{0};
};

}  // namespace hone::comm

#pragma once

#include <array>
#include <chrono>

#include "http/http.h"

namespace hone::http {

/// What a connection waits for, and so how long it may.
enum class Wait { idle, header, body, write, linger, drain };
inline constexpr size_t kWaits = 6;

/// A place in one of the lists of deadlines; a connection is one.
class DeadlineLink {
 public:
  DeadlineLink() = default;
  DeadlineLink(const DeadlineLink&) = delete;
  DeadlineLink& operator=(const DeadlineLink&) = delete;
  Clock::time_point deadline() const { return at_; }

 private:
  friend class Deadlines;
  DeadlineLink* previous_ = nullptr;  ///< null: in no list
  DeadlineLink* next_ = nullptr;
  Clock::time_point at_ = {};
};

/// Deadlines of any number of connections for the price of one timer. All waits of a kind last
/// equally long, so that a list of a kind to whose end new ones are added is sorted: setting and
/// clearing take constant time, and only the lists' fronts are ever looked at.
class Deadlines {
 public:
  explicit Deadlines(const std::array<std::chrono::milliseconds, kWaits>& times);
  /// Sets the deadline anew, in place of the one that it had.
  void set(DeadlineLink& link, Wait wait, Clock::time_point now);
  void clear(DeadlineLink& link);
  /// The next one, or the end of time.
  Clock::time_point earliest() const;
  /// Takes one out whose deadline is over; null where there is none.
  DeadlineLink* take_expired(Clock::time_point now);

 private:
  std::array<std::chrono::milliseconds, kWaits> times_;
  std::array<DeadlineLink, kWaits> lists_;  ///< circular; their own links are the heads
};

}  // namespace hone::http

#include "http/server/deadlines.h"

#include <algorithm>

namespace hone::http {

Deadlines::Deadlines(const std::array<std::chrono::milliseconds, kWaits>& times) : times_(times) {
  for (DeadlineLink& head : lists_) head.previous_ = head.next_ = &head;
}

void Deadlines::set(DeadlineLink& link, Wait wait, Clock::time_point now) {
  clear(link);
  const auto kind = static_cast<size_t>(wait);
  DeadlineLink& head = lists_[kind];
  link.at_ = now + times_[kind];
  link.previous_ = head.previous_;
  link.next_ = &head;
  link.previous_->next_ = head.previous_ = &link;
}

void Deadlines::clear(DeadlineLink& link) {
  if (!link.previous_) return;
  link.previous_->next_ = link.next_;
  link.next_->previous_ = link.previous_;
  link.previous_ = link.next_ = nullptr;
}

Clock::time_point Deadlines::earliest() const {
  auto earliest = Clock::time_point::max();
  for (const DeadlineLink& head : lists_) {
    if (head.next_ != &head) earliest = std::min(earliest, head.next_->at_);
  }
  return earliest;
}

DeadlineLink* Deadlines::take_expired(Clock::time_point now) {
  for (DeadlineLink& head : lists_) {
    if (DeadlineLink* const first = head.next_; first != &head && first->at_ <= now) {
      clear(*first);
      return first;
    }
  }
  return nullptr;
}

}  // namespace hone::http

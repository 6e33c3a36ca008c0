// This file has what the ranks of a run tell each other, step by step.
#include <cstring>

#include "train/loop.h"

namespace hone::train {

double Loop::loss_of(const Stepper::Ticket& ticket) const {
  return ticket ? stepper_.loss(ticket) : 0;
}

double Loop::tell(const Started& step) {
  News own;
  std::vector<double> losses;  // by slice of this rank
  for (size_t slice = 0; slice < slices_.count; ++slice) {
    double loss = 0;
    for (size_t i = 0; i < step.size; ++i) {
      const data::Batch& batch = step.group[slice][i];
      loss += loss_of(step.losses[slice * step.size + i]);
      own.work.samples += batch.size();
      own.work.units += static_cast<double>(batch.units);
    }
    losses.push_back(loss);
  }
  own.stop = parts_.observer.stop_requested();
  own.end = parts_.observer.end_requested();
  own.work.seconds = step_watch_.seconds() - (parts_.ranks.times().exposed - exposed_before_);
  std::string text(reinterpret_cast<const char*>(&own), sizeof(own));
  text.append(reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double));
  news_.clear();
  double sum = 0;
  // Slices are added up one by one: the sum does not depend on which rank had which.
  for (const std::string& heard : parts_.ranks.gather(text)) {
    std::memcpy(&news_.emplace_back(), heard.data(), sizeof(News));
    for (size_t at = sizeof(News); at < heard.size(); at += sizeof(double)) {
      double loss = 0;
      std::memcpy(&loss, heard.data() + at, sizeof(loss));
      sum += loss;
    }
  }
  if (balancer_) balance();
  return sum;
}

void Loop::balance() {
  std::vector<RankWork> work;
  for (const News& news : news_) work.push_back(news.work);
  if (balancer_->observe(work)) shares_.change(loader_->first_free(), balancer_->shares());
}

bool Loop::stop_requested() {
  if (alone()) return parts_.observer.stop_requested();
  return std::any_of(news_.begin(), news_.end(), [](const News& news) { return news.stop; });
}

bool Loop::end_requested() {
  if (alone()) return parts_.observer.end_requested();
  return std::any_of(news_.begin(), news_.end(), [](const News& news) { return news.end; });
}

void Loop::agree_on_checkpoint() {
  if (parts_.ranks.size() == 1) return;
  std::string& last = parts_.summary.last_checkpoint;
  last = parts_.ranks.broadcast(last);
}

/// Names the place that is not finite. A GPU may have gone on since: without changing weights, as
/// it takes no step that is not finite, and the step is run again. So it is where there are other
/// slices, whose ranks look for it in their own.
std::string Loop::where_not_finite(const Started& step) {
  if (alone() && !backend_.runs_ahead()) return stepper_.first_non_finite();
  const std::string found = search_not_finite(step);
  if (parts_.ranks.size() == 1) return found;
  const std::vector<std::string> all = parts_.ranks.gather(found);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    return fmt::format("{}, on rank {} ({})", all[rank], rank, parts_.ranks.hosts()[rank]);
  }
  return "the sum of all ranks";
}

std::string Loop::search_not_finite(const Started& step) {
  for (const SliceBatches& slice : step.group) {
    StepState state = step.state;
    for (size_t i = 0; i < step.size; ++i) {
      if (slice[i].size() == 0) continue;
      stepper_.accumulate(slice[i], state);
      state.first = false;
      std::string found = stepper_.first_non_finite();
      if (!found.empty()) return found;
    }
  }
  return {};
}

}  // namespace hone::train

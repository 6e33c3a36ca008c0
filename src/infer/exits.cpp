#include "infer/exits.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace hone::infer {
namespace {

constexpr models::OutputOptions kWithExits = {.exits = true};

}  // namespace

double entropy(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  double weighed = 0;
  for (const float logit : logits) {
    const double part = std::exp(logit - largest);
    sum += part;
    weighed += part * (logit - largest);
  }
  return std::log(sum) - weighed / sum;
}

bool ExitRule::agrees(std::span<const float> logits) const {
  switch (problem_) {
    case models::ProblemType::regression:
      return std::abs(logits[0] - last_[0]) < settings_.tolerance;
    case models::ProblemType::multi_label:
      return std::equal(logits.begin(), logits.end(), last_.begin(),
                        [](float a, float b) { return (a >= 0) == (b >= 0); });
    default:
      return std::max_element(logits.begin(), logits.end()) - logits.begin() ==
             std::max_element(last_.begin(), last_.end()) - last_.begin();
  }
}

bool ExitRule::leaves(std::span<const float> logits) {
  if (settings_.method == models::ExitMethod::deebert) return entropy(logits) < settings_.entropy;
  agreed_ = !last_.empty() && agrees(logits) ? agreed_ + 1 : 0;
  last_.assign(logits.begin(), logits.end());
  return agreed_ >= settings_.patience;
}

bool ExitRule::may_leave() const {
  if (settings_.method == models::ExitMethod::deebert) return true;
  return !last_.empty() && agreed_ + 1 >= settings_.patience;
}

ExitPass::ExitPass(models::Encoder& encoder, const models::ExitSettings& settings, ThreadPool& pool)
    : settings_(settings),
      problem_(encoder.config().problem),
      labels_(encoder.config().labels.size()),
      layered_(encoder, kWithExits, pool) {}

ExitPass::ExitPass(const models::Encoder& encoder, const models::ExitSettings& settings,
                   StreamedWeights& weights, ThreadPool& pool)
    : settings_(settings),
      problem_(encoder.config().problem),
      labels_(encoder.config().labels.size()),
      layered_(encoder, kWithExits, weights, pool) {}

std::vector<ExitAnswer> ExitPass::run(const models::Batch& batch, double deadline) {
  std::vector<ExitAnswer> answers(static_cast<size_t>(batch.sequences()));
  std::vector<ExitRule> rules(answers.size(), ExitRule(settings_, problem_));
  const Stopwatch watch;
  double before = 0;
  double dearest = 0;  // of the layers so far
  Layered::Hooks hooks;
  // Under a deadline layers run whole, so that it is known what one costs.
  hooks.may_leave = [&](std::span<const int64_t> sequences) {
    return deadline <= 0 && std::any_of(sequences.begin(), sequences.end(), [&](int64_t place) {
             return rules[static_cast<size_t>(place)].may_leave();
           });
  };
  hooks.decide = [&](size_t layer, std::span<const int64_t> sequences, const float* logits,
                     std::vector<bool>& leave) {
    const double now = watch.seconds();
    dearest = std::max(dearest, now - before);
    before = now;
    // A tenth over what a layer has cost: the next one may be a little slower.
    const bool late = deadline > 0 && now + 1.1 * dearest > deadline;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto place = static_cast<size_t>(sequences[i]);
      const std::span<const float> row(logits + i * labels_, labels_);
      leave[i] = rules[place].leaves(row) || late;
      if (leave[i]) answers[place] = {{row.begin(), row.end()}, static_cast<int64_t>(layer)};
    }
  };
  hooks.finish = [&](int64_t sequence, std::span<const float> row) {
    answers[static_cast<size_t>(sequence)] = {{row.begin(), row.end()},
                                              static_cast<int64_t>(layered_.parts()) - 1};
  };
  layered_.run(batch, hooks);
  return answers;
}

std::vector<std::vector<std::vector<float>>> ExitPass::run_all(const models::Batch& batch) {
  std::vector<std::vector<std::vector<float>>> all(static_cast<size_t>(batch.sequences()));
  Layered::Hooks hooks;
  hooks.decide = [&](size_t, std::span<const int64_t> sequences, const float* logits,
                     std::vector<bool>&) {
    for (size_t i = 0; i < sequences.size(); ++i) {
      const float* row = logits + i * labels_;
      all[static_cast<size_t>(sequences[i])].emplace_back(row, row + labels_);
    }
  };
  hooks.finish = [&](int64_t sequence, std::span<const float> row) {
    all[static_cast<size_t>(sequence)].emplace_back(row.begin(), row.end());
  };
  layered_.run(batch, hooks);
  return all;
}

}  // namespace hone::infer

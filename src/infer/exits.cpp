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
    case ProblemType::regression:
      return std::abs(logits[0] - last_[0]) < settings_.tolerance;
    case ProblemType::multi_label:
      return std::equal(logits.begin(), logits.end(), last_.begin(),
                        [](float a, float b) { return (a >= 0) == (b >= 0); });
    default:
      return std::max_element(logits.begin(), logits.end()) - logits.begin() ==
             std::max_element(last_.begin(), last_.end()) - last_.begin();
  }
}

bool ExitRule::leaves(std::span<const float> logits) {
  if (settings_.method == models::ExitMethod::deebert) return entropy(logits) < settings_.entropy;
  if (settings_.method == models::ExitMethod::adaptive) {
    return 1 / (1 + std::exp(-double{logits.back()})) >= settings_.confidence;
  }
  agreed_ = !last_.empty() && agrees(logits) ? agreed_ + 1 : 0;
  last_.assign(logits.begin(), logits.end());
  return agreed_ >= settings_.patience;
}

bool ExitRule::may_leave() const {
  if (settings_.method != models::ExitMethod::pabee) return true;
  return !last_.empty() && agreed_ + 1 >= settings_.patience;
}

ExitPass::ExitPass(models::Model& model, const models::ExitSettings& settings, ThreadPool& pool,
                   bool planned)
    : settings_(settings),
      problem_(model.config().problem),
      labels_(model.config().labels.size()),
      width_(
          static_cast<size_t>(models::exit_width(settings.method, static_cast<int64_t>(labels_)))),
      layerwise_(model, kWithExits, pool, planned) {}

ExitPass::ExitPass(const models::Model& model, const models::ExitSettings& settings,
                   StreamedWeights& weights, ThreadPool& pool, bool planned)
    : settings_(settings),
      problem_(model.config().problem),
      labels_(model.config().labels.size()),
      width_(
          static_cast<size_t>(models::exit_width(settings.method, static_cast<int64_t>(labels_)))),
      layerwise_(model, kWithExits, weights, pool, planned) {}

std::vector<ExitAnswer> ExitPass::run(const data::Batch& batch, double deadline) {
  std::vector<ExitAnswer> answers(static_cast<size_t>(batch.size()));
  std::vector<ExitRule> rules(answers.size(), ExitRule(settings_, problem_));
  const Stopwatch watch;
  double before = 0;
  double most_expensive = 0;  // seconds of the slowest of the layers so far
  LayerwiseForward::Hooks hooks;
  // Under a deadline layers run whole, so that it is known what one costs.
  hooks.may_leave = [&](std::span<const int64_t> sequences) {
    return deadline <= 0 && std::any_of(sequences.begin(), sequences.end(), [&](int64_t place) {
             return rules[static_cast<size_t>(place)].may_leave();
           });
  };
  hooks.decide = [&](size_t layer, std::span<const int64_t> sequences, const float* logits,
                     std::vector<bool>& leave) {
    const double now = watch.seconds();
    most_expensive = std::max(most_expensive, now - before);
    before = now;
    // The next layer may be a little slower than what a layer has cost, so a tenth is added.
    const bool late = deadline > 0 && now + 1.1 * most_expensive > deadline;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto place = static_cast<size_t>(sequences[i]);
      const std::span<const float> row(logits + i * width_, width_);
      leave[i] = rules[place].leaves(row) || late;
      if (!leave[i]) continue;
      const std::span<const float> own = row.first(labels_);
      answers[place] = {{own.begin(), own.end()}, static_cast<int64_t>(layer)};
    }
  };
  hooks.finish = [&](int64_t sequence, std::span<const float> row) {
    answers[static_cast<size_t>(sequence)] = {{row.begin(), row.end()},
                                              static_cast<int64_t>(layerwise_.parts()) - 1};
  };
  layerwise_.run(batch, hooks);
  return answers;
}

std::vector<std::vector<std::vector<float>>> ExitPass::run_all(const data::Batch& batch) {
  std::vector<std::vector<std::vector<float>>> all(static_cast<size_t>(batch.size()));
  LayerwiseForward::Hooks hooks;
  hooks.decide = [&](size_t, std::span<const int64_t> sequences, const float* logits,
                     std::vector<bool>&) {
    for (size_t i = 0; i < sequences.size(); ++i) {
      const float* row = logits + i * width_;
      all[static_cast<size_t>(sequences[i])].emplace_back(row, row + width_);
    }
  };
  hooks.finish = [&](int64_t sequence, std::span<const float> row) {
    all[static_cast<size_t>(sequence)].emplace_back(row.begin(), row.end());
  };
  layerwise_.run(batch, hooks);
  return all;
}

}  // namespace hone::infer

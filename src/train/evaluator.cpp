#include "train/evaluator.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "data/loader.h"
#include "metrics/tree_scorer.h"
#include "models/tree_parser.h"
#include "plan/backend.h"

namespace hone::train {
namespace {

/// Gives this rank's part of the samples: ranks have one behind the other, with about as many
/// units.
Evaluator::Range part_of(const data::SampleStore& store, const comm::Communicator& ranks) {
  const auto bound = [&](int64_t rank) {
    const int64_t units = store.units() * rank / ranks.size();
    int64_t sample = 0;
    for (int64_t sum = 0; sample < store.samples() && sum < units; ++sample) {
      sum += store.lengths()[static_cast<size_t>(sample)];
    }
    return rank == ranks.size() ? store.samples() : sample;
  };
  return {bound(ranks.rank()), bound(ranks.rank() + 1)};
}

/// Makes `scorer` that of all ranks' samples. Gives the seconds of the slowest rank.
template <typename Scorer>
double merge_scores(Scorer& scorer, const Scorer& empty, double seconds,
                    comm::Communicator& ranks) {
  std::vector<double> own = scorer.values();
  own.push_back(seconds);
  scorer = empty;
  for (const std::string& text :
       ranks.gather({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double)})) {
    std::vector<double> values(text.size() / sizeof(double));
    std::memcpy(values.data(), text.data(), text.size());
    seconds = std::max(seconds, values.back());
    values.pop_back();
    scorer.merge(values);
  }
  return seconds;
}

}  // namespace

Evaluator::Evaluator(models::Model& model, const data::Processor& processor, ThreadPool& pool,
                     std::shared_ptr<Arena> arena, bool planned)
    : model_(model),
      processor_(processor),
      pool_(pool),
      pass_(model.record(models::OutputOptions{})),
      runner_(pass_.plan, model.parameters().arrays_for(DType::f32, pass_.shadows, true), pool,
              {{}, std::move(arena), planned}),
      pass_units_(
          processor.pass_units(Backend::of(model.parameters().target().device).efficient_rows())) {}

int64_t Evaluator::end_of_pass(const data::SampleStore& store, int64_t first, int64_t most) const {
  const std::span<const int32_t> lengths = store.lengths();
  int64_t units = 0, end = first;
  for (; end < most; ++end) {
    units += lengths[static_cast<size_t>(end)];
    if (end > first && units > pass_units_) break;
  }
  return end;
}

Extents Evaluator::largest_pass(const data::SampleStore& store) const {
  int64_t samples = 0, most_units = 0, longest = 0;
  const std::span<const int32_t> lengths = store.lengths();
  for (int64_t first = 0; first < store.samples();) {
    const int64_t end = end_of_pass(store, first, store.samples());
    samples = std::max(samples, end - first);
    int64_t units = 0;
    for (; first < end; ++first) {
      const int64_t length = lengths[static_cast<size_t>(first)];
      units += length;
      longest = std::max(longest, length);
    }
    most_units = std::max(most_units, units);
  }
  return processor_.extents(samples, most_units, longest);
}

void Evaluator::reserve(const data::SampleStore& store) {
  if (!Backend::of(model_.parameters().target().device).runs_ahead()) return;
  for (;;) {
    try {
      return runner_.resize(largest_pass(store));
    } catch (const Error& error) {
      const std::span<const int32_t> lengths = store.lengths();
      const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
      if (error.kind() != ErrorKind::memory || pass_units_ <= longest) throw;
      pass_units_ /= 2;
    }
  }
}

Evaluator::Started Evaluator::start(const data::SampleStore& store, int64_t first, int64_t most) {
  Started started{first, end_of_pass(store, first, most)};
  batch_.set_layout(processor_.layout());
  for (int64_t sample = first; sample < started.end; ++sample) {
    store.read(sample, buffer_);
    processor_.append(buffer_, sample, batch_);
  }
  const auto width = static_cast<size_t>(pass_.output.width);
  const bool spans = models::is_parser(model_.config());
  for (int64_t i = 0; i < batch_.size(); ++i) {
    started.values.push_back(spans ? static_cast<size_t>(batch_.rows(data::kCells, i)) : width);
  }
  runner_.resize(batch_.extents());
  pass_.bind(batch_, runner_);
  runner_.start();
  started.logits = runner_.fetch({&pass_.output, 1});
  return started;
}

bool Evaluator::run(const data::SampleStore& store, const Range& range, const Take& take,
                    const std::function<bool(int64_t samples)>& proceed) {
  model_.parameters().refresh(pool_);
  Started last;
  const auto give = [&] {
    if (!last.logits) return;
    const auto* rows = reinterpret_cast<const float*>(last.logits->data());
    for (int64_t i = last.first; i < last.end; ++i) {
      const size_t count = last.values[static_cast<size_t>(i - last.first)];
      take(i, {rows, count});
      rows += count;
    }
  };
  for (int64_t first = range.first; first < range.end;) {
    Started next = start(store, first, range.end);
    give();
    last = std::move(next);
    first = last.end;
    if (proceed && !proceed(last.first)) return false;
  }
  give();
  if (proceed) proceed(last.end);
  return true;
}

template <typename Scorer>
SplitScores Evaluator::score(const data::SampleStore& store, const Take& add, Scorer& scorer,
                             const Scorer& empty, comm::Communicator& ranks) {
  const Stopwatch watch;
  run(store, part_of(store, ranks), add);
  SplitScores result;
  result.seconds = watch.seconds();
  if (ranks.size() > 1) result.seconds = merge_scores(scorer, empty, result.seconds, ranks);
  result.samples = store.samples();
  result.units = store.units();
  result.loss = scorer.loss();
  result.metrics = scorer.results();
  return result;
}

SplitScores Evaluator::evaluate_trees(const data::SampleStore& store, comm::Communicator& ranks) {
  metrics::TreeScorer scorer;
  std::vector<std::byte> sample;
  const auto add = [&](int64_t number, std::span<const float> scores) {
    store.read(number, sample);
    models::ComparedTrees trees = models::compare_trees(sample, scores);
    scorer.add(std::move(trees.found), std::move(trees.gold), trees.loss);
  };
  return score(store, add, scorer, {}, ranks);
}

SplitScores Evaluator::evaluate(const data::SampleStore& store, ProblemType problem,
                                const std::vector<std::string>& metrics,
                                comm::Communicator& ranks) {
  if (models::is_parser(model_.config())) return evaluate_trees(store, ranks);
  const metrics::LogitScorer empty(problem, pass_.output.width, metrics);
  metrics::LogitScorer scorer = empty;
  std::vector<float> targets(static_cast<size_t>(store.target_width()));
  const auto add = [&](int64_t sample, std::span<const float> logits) {
    if (problem == ProblemType::single_label) {
      scorer.add_class(logits, store.class_of(sample));
      return;
    }
    store.targets_of(sample, targets.data());
    if (problem == ProblemType::regression) {
      scorer.add_score(logits, targets.front());
    } else {
      std::vector<bool> flags;
      for (const float target : targets) flags.push_back(target > 0);
      scorer.add_labels(logits, flags);
    }
  };
  return score(store, add, scorer, empty, ranks);
}

}  // namespace hone::train

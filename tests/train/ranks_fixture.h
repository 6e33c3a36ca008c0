#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "comm/ranks.h"
#include "train/run_fixture.h"

namespace hone::train {

/// Asks to stop when it is asked for the `stop_at`th time, and may take its time for that.
class AskedListener : public Listener {
 public:
  explicit AskedListener(int64_t stop_at) : stop_at_(stop_at) {}
  bool stop_requested() override {
    if (delay > 0) std::this_thread::sleep_for(std::chrono::duration<double>(delay));
    return ++asked_ == stop_at_;
  }
  double delay = 0;  ///< seconds of each step

 private:
  int64_t stop_at_;
  int64_t asked_ = 0;
};

/// Runs of several ranks, which are forked, beside runs of one process.
class RanksTest : public RunTest {
 protected:
  static constexpr int64_t kGlobalBatch = 24;

  /// Twenty steps of the small built-in model over 49 reviews: an epoch's last batch has one, so
  /// that ranks are left without any.
  Options twenty_steps(const std::string& name) const {
    Options made = options(name);
    made.data.max_train_samples = 49;
    made.batch.train = kGlobalBatch;
    made.max_steps = 20;
    made.learning_rate = 3e-4;
    made.evaluation.kind = Interval::Kind::never;
    made.threads = 1;
    return made;
  }

  /// Runs the options as so many ranks, whose batches together are those of one process.
  static std::vector<comm::RankEnd> run_as(int ranks, Options made,
                                           const std::function<void(Options&, int)>& change = {},
                                           int64_t stop_at = -1) {
    made.batch.train /= ranks;
    made.batch.max_tokens /= ranks;
    return comm::run_ranks(ranks, [&](comm::Communicator& all) {
      Options own = made;
      if (change) change(own, all.rank());
      // The last rank is the one that is asked to stop.
      AskedListener listener(all.rank() + 1 == ranks ? stop_at : -1);
      const Summary summary = run(own, listener, all);
      EXPECT_EQ(summary.interrupted, stop_at > 0);
      EXPECT_EQ(summary.last_checkpoint.empty(), own.saving.kind == Interval::Kind::never);
    });
  }

  /// The numbers of a name in log.jsonl, in order.
  static std::vector<double> logged(const std::string& output, const char* name) {
    std::vector<double> values;
    for (const Json& entry : log_of(output)) {
      if (entry.contains(name)) values.push_back(entry.at(name).get<double>());
    }
    return values;
  }
  static std::vector<Json> log_of(const std::string& output) {
    std::vector<Json> entries;
    const std::string text = read_file(output + "/log.jsonl");
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      entries.push_back(parse_json(std::string_view(text).substr(at, end - at), "log.jsonl"));
      at = end + 1;
    }
    return entries;
  }

  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                          double tolerance, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], wanted[i], tolerance) << what << ", step " << i + 1;
    }
  }
};

}  // namespace hone::train

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "train/run.h"

namespace hone::train {

/// Hears a run, and ends it behind a step.
class Listener : public Observer {
 public:
  explicit Listener(int64_t stop_at = -1) : stop_at_(stop_at) {}
  void say(const std::string& line) override { lines.push_back(line); }
  void warn(const std::string& line) override { warnings.push_back(line); }
  void progress(const Progress& at) override {
    step_ = at.step;
    losses.push_back(at.loss);
  }
  void logged(const LogEntry& entry) override { entries.push_back(entry); }
  void saved(const std::string& folder) override { checkpoints.push_back(folder); }
  bool stop_requested() override { return step_ == stop_at_; }
  bool end_requested() override { return step_ == end_at; }

  /// The entries of evaluations alone.
  std::vector<LogEntry> evaluations() const {
    std::vector<LogEntry> found;
    for (const LogEntry& entry : entries) {
      if (entry.values.front().first == "eval_loss") found.push_back(entry);
    }
    return found;
  }

  std::vector<std::string> lines;
  std::vector<std::string> warnings;
  std::vector<double> losses;  ///< the loss of each step
  std::vector<LogEntry> entries;
  std::vector<std::string> checkpoints;  ///< complete ones, in order
  int64_t end_at = -1;                   ///< the step behind which training is done

 private:
  int64_t stop_at_;
  int64_t step_ = 0;
};

/// A folder for the outputs of a test's runs.
class RunTest : public testing::Test {
 protected:
  explicit RunTest(const std::string& parent = testing::TempDir()) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = parent + "hone-" + test->name() + "-" + std::to_string(::getpid());
    std::filesystem::create_directories(root_);
  }
  ~RunTest() override { std::filesystem::remove_all(root_); }

  std::string folder(const std::string& name) const { return root_ + "/" + name; }
  /// The bytes of what was trained: the model's weights, or an adapter's.
  static std::string weights(const std::string& folder) {
    const std::string adapter = folder + "/adapter_model.safetensors";
    return read_file(file_exists(adapter) ? adapter : folder + "/model.safetensors");
  }
  /// trainer_state.json without the times in it.
  static Json lasting_state(const std::string& folder) {
    const std::string file = folder + "/trainer_state.json";
    Json state = parse_json(read_file(file), file);
    for (Json& entry : state.at("log_history")) {
      entry.erase("eval_runtime");
      entry.erase("eval_samples_per_second");
    }
    return state;
  }
  std::string write(const std::string& name, std::string_view text) const {
    write_file(folder(name), text);
    return folder(name);
  }

  /// The small built-in model on a few reviews: 12 steps of 8 in 1.5 epochs.
  Options options(const std::string& name) const {
    Options options;
    options.data.max_train_samples = 64;
    options.data.max_eval_samples = 16;
    options.epochs = 1.5;
    options.learning_rate = 1e-3;
    options.output = folder(name);
    options.saving.kind = Interval::Kind::never;
    options.logging_steps = 1;
    options.threads = 2;
    return options;
  }

 private:
  std::string root_;
};

/// What `work` complains of; empty where it does not.
inline std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace hone::train

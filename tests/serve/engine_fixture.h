#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <future>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "infer/answered_records.h"
#include "serve/served_model.h"

namespace hone::serve {

inline const std::string kServedFolder = HONE_TEST_DIR "/../models/goldens/bert-words";

/// Texts that jobs point into.
inline std::shared_ptr<const std::vector<std::string>> job_texts(int64_t first, int64_t count) {
  auto texts = std::make_shared<std::vector<std::string>>();
  for (int64_t i = first; i < first + count; ++i) texts->push_back(infer::varied_text(i));
  return texts;
}

inline Job job_of(std::shared_ptr<const std::vector<std::string>> texts) {
  Job job;
  for (const std::string& text : *texts) job.inputs.push_back({text, std::nullopt});
  job.texts = std::move(texts);
  return job;
}

inline Job job_of_text(std::string text) {
  return job_of(std::make_shared<std::vector<std::string>>(1, std::move(text)));
}

/// A job's result to come; a job that is refused is an error of the test.
inline std::future<JobResult> submitted(ServedModel& model, Job job) {
  const auto promise = std::make_shared<std::promise<JobResult>>();
  job.done = [promise](JobResult result) { promise->set_value(std::move(result)); };
  if (!model.submit(std::move(job)).accepted) throw std::runtime_error("the job was refused");
  return promise->get_future();
}

/// The message of the error that a job ended with.
inline std::string error_of(const JobResult& result) {
  if (!result.error) return "";
  try {
    std::rethrow_exception(result.error);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Holds workers in the middle of a forward pass, or lets it fail.
class StepControl : public RunSink {
 public:
  void on_step(const StepEvent&) override {
    std::unique_lock lock(mutex_);
    ++steps;
    if (failures_ > 0) {
      --failures_;
      throw std::runtime_error("the device is on fire");
    }
    if (!held_) return;
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --inside_;
  }
  /// The next step waits until let_go().
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  /// Waits until so many workers are held.
  void wait_until_held(int workers = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == workers; });
  }
  void let_fail(int times) {
    const std::lock_guard lock(mutex_);
    failures_ = times;
  }
  int64_t steps = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int inside_ = 0;
  int failures_ = 0;
};

/// One worker of one thread.
inline ModelSettings served_settings(RunSink* sink = nullptr) {
  ModelSettings settings;
  settings.folder = kServedFolder;
  settings.session.threads = 1;
  settings.max_queue_inputs = 100'000;
  settings.sink = sink;
  return settings;
}

/// A copy of the golden folder that a test may damage.
class DamagedFolder {
 public:
  explicit DamagedFolder(const std::string& name) : path_(testing::TempDir() + name) {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(kServedFolder, path_);
  }
  ~DamagedFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

  /// The sum of one token's embedding overflows, which gives answers that are no numbers.
  void spoil_token(int32_t id) const {
    const std::string file = path_ + "/model.safetensors";
    std::string bytes = read_file(file);
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const Json tensors = parse_json(bytes.substr(8, header), file);
    for (const auto& [name, tensor] : tensors.items()) {
      if (!name.ends_with("word_embeddings.weight")) continue;
      ASSERT_EQ(tensor.at("dtype"), "F32");
      const size_t width = tensor.at("shape")[1].get<size_t>();
      const size_t at = 8 + header + tensor.at("data_offsets")[0].get<size_t>() +
                        static_cast<size_t>(id) * width * sizeof(float);
      const std::vector<float> row(width, std::numeric_limits<float>::max());
      std::memcpy(bytes.data() + at, row.data(), width * sizeof(float));
    }
    OutputFile out(file);
    out.write(bytes);
    out.commit();
  }

 private:
  std::string path_;
};

}  // namespace hone::serve

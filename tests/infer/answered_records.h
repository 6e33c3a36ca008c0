#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/records.h"
#include "infer/line_answers.h"

namespace hone::infer {

/// A text of 0 to 18 words that bert-words' tokenizer knows.
inline std::string varied_text(int64_t i) {
  const char* const words[] = {"the", "film", "is", "great", "movie", "not", "good"};
  std::string text;
  for (int64_t k = 0; k < i * 7 % 19; ++k) {
    text += words[(i + 3 * k) % 7];
    text += ' ';
  }
  return text;
}

inline std::string answer_line(const Answer& answer) {
  std::string line = std::to_string(answer.tokens);
  for (const float value : answer.values) line += " " + std::to_string(value);
  return line + "\n";
}

/// Records of a list; behind its end perhaps an error.
class ListedRecords : public data::RecordStream {
 public:
  explicit ListedRecords(std::vector<data::Record> list, std::string error = "")
      : list_(std::move(list)), error_(std::move(error)) {
    for (size_t i = 0; i < list_.size(); ++i) list_[i].row = static_cast<int64_t>(i) + 1;
  }
  static std::vector<data::Record> varied(int64_t count) {
    std::vector<data::Record> list(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) list[static_cast<size_t>(i)].text = varied_text(i);
    return list;
  }
  bool next(data::Record& record) override {
    if (at_ < list_.size()) {
      record = list_[at_++];
      return true;
    }
    if (!error_.empty()) fail(ErrorKind::bad_file, "{}", error_);
    return false;
  }
  bool waiting() override { return true; }
  std::string where(const data::Record& record) const override {
    return "list: line " + std::to_string(record.row);
  }

 private:
  std::vector<data::Record> list_;
  std::string error_;
  size_t at_ = 0;
};

/// Records that a test hands in one by one, as a slow pipe does.
class FedRecords : public data::RecordStream {
 public:
  void feed(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(text);
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  bool next(data::Record& record) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !texts_.empty(); });
    if (texts_.empty()) return false;
    record = {};
    record.text = texts_.front();
    record.row = ++rows_;
    texts_.pop_front();
    return true;
  }
  bool waiting() override {
    const std::lock_guard lock(mutex_);
    return ended_ || !texts_.empty();
  }
  void interrupt() override { end(); }
  std::string where(const data::Record& record) const override {
    return "fed: line " + std::to_string(record.row);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> texts_;
  int64_t rows_ = 0;
  bool ended_ = false;
};

}  // namespace hone::infer

#include "data/line_records.h"

#include <fmt/core.h>

#include <utility>

namespace hone::data {

void clear(Record& record) {
  record.text.clear();
  record.pair.reset();
  record.label.reset();
  record.labels.reset();
  record.row = 0;
}

bool LineRecords::read(Record& record) {
  std::string_view line;
  clear(record);
  if (!lines_.next(line)) {
    ended_ = true;
    finish();
    return false;
  }
  return take(line, record);
}

bool LineRecords::next(Record& record) {
  if (error_) std::rethrow_exception(error_);
  if (std::exchange(has_ahead_, false)) {
    std::swap(record, ahead_);
    return true;
  }
  try {
    while (!ended_) {
      if (read(record)) return true;
    }
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
  return false;
}

bool LineRecords::waiting() {
  if (has_ahead_ || ended_ || error_) return true;
  try {
    while (lines_.waiting()) {
      has_ahead_ = read(ahead_);
      if (has_ahead_ || ended_) return true;
    }
  } catch (...) {
    error_ = std::current_exception();
    return true;
  }
  return false;
}

std::string LineRecords::where(const Record& record) const {
  return fmt::format("{}: line {}", lines_.file(), record.row);
}

std::string LineRecords::here() const {
  return fmt::format("{}: line {}", lines_.file(), lines_.number());
}

bool PlainRecords::take(std::string_view line, Record& record) {
  record.text = line;
  record.row = lines().number();
  return true;
}

}  // namespace hone::data

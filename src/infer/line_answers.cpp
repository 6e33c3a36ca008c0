#include "infer/line_answers.h"

#include "base/error.h"

namespace hone::infer {
namespace {

constexpr size_t kMostRecords = 256;
constexpr size_t kEnoughBytes = 1 << 20;

void take(const Answer& answer, const data::Record& record, const data::RecordStream& stream,
          const AnswerHandler& handler, int64_t limit) {
  if (!handler.truncate) refuse_truncated(answer, limit, stream.where(record));
  try {
    handler.answer(answer);
  } catch (const Error& error) {
    throw Error(error.kind(), stream.where(record) + ": " + error.what());
  }
}

}  // namespace

std::span<const data::Record> BatchReader::next() {
  if (error_) std::rethrow_exception(error_);
  size_t count = 0;
  size_t bytes = 0;
  try {
    while (count < kMostRecords && bytes < kEnoughBytes && (count == 0 || stream_.waiting())) {
      if (records_.size() == count) records_.emplace_back();
      data::Record& record = records_[count];
      if (!stream_.next(record)) break;
      bytes += record.text.size() + (record.pair ? record.pair->size() : 0);
      ++count;
    }
  } catch (...) {
    if (count == 0) throw;
    error_ = std::current_exception();
  }
  return {records_.data(), count};
}

LineCounts answer_lines(Session& session, data::RecordStream& records,
                        const AnswerHandler& handler) {
  LineCounts counts;
  BatchReader reader(records);
  std::vector<Input> inputs;
  for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
    inputs.clear();
    for (const data::Record& record : batch) inputs.push_back({record.text, record.pair});
    const std::vector<Answer> answers = session.run(inputs);
    for (size_t i = 0; i < answers.size(); ++i) {
      take(answers[i], batch[i], records, handler, session.max_length());
      counts.tokens += answers[i].tokens;
      counts.truncated += answers[i].truncated() ? 1 : 0;
    }
    counts.records += static_cast<int64_t>(answers.size());
    if (!records.waiting()) handler.idle();
    handler.progress(counts);
  }
  return counts;
}

void refuse_truncated(const Answer& answer, int64_t limit, const std::string& where) {
  if (!answer.truncated()) return;
  fail(ErrorKind::usage, "{}: {} tokens are more than the limit of {}", where, answer.full_tokens,
       limit);
}

}  // namespace hone::infer

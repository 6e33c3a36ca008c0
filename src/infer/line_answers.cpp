#include "infer/line_answers.h"

#include "base/error.h"
#include "infer/answer_pipeline.h"

namespace hone::infer {
namespace {

constexpr size_t kEnoughBytes = 1 << 20;

/// Reads, computes and writes one after the other: what a deadline or a budget asks for.
LineCounts answer_in_turn(Session& session, data::RecordStream& records,
                          const AnswerHandler& handler, int64_t most_samples) {
  LineCounts counts;
  BatchReader reader(
      records, most_samples > 0 ? static_cast<size_t>(most_samples) : BatchReader::kMostRecords);
  std::vector<Input> inputs;
  std::string text;
  for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
    inputs.clear();
    for (const data::Record& record : batch) inputs.push_back(data::raw_of(record));
    const std::vector<Answer> answers = session.run(inputs);
    for (size_t i = 0; i < answers.size(); ++i) {
      text.clear();
      format_answer(handler, answers[i], batch[i], records, session.max_units(), text);
      if (handler.write) handler.write(text);
      if (handler.answer) handler.answer(batch[i], answers[i]);
      counts.add(answers[i]);
    }
    if (handler.idle && !records.waiting()) handler.idle();
    if (handler.progress) handler.progress(counts);
  }
  return counts;
}

}  // namespace

std::span<data::Record> BatchReader::next() {
  if (error_) std::rethrow_exception(error_);
  size_t count = 0;
  size_t bytes = 0;
  try {
    while (count < most_records_ && bytes < kEnoughBytes && (count == 0 || stream_.waiting())) {
      if (records_.size() == count) records_.emplace_back();
      data::Record& record = records_[count];
      if (!stream_.next(record)) break;
      bytes += data::bytes_of(record);
      ++count;
    }
  } catch (...) {
    if (count == 0) throw;
    error_ = std::current_exception();
  }
  idle_ = !stream_.waiting();
  return {records_.data(), count};
}

void LineCounts::add(const Answer& answer) {
  ++records;
  tokens += answer.tokens;
  truncated += answer.truncated() ? 1 : 0;
}

LineCounts answer_lines(Session& session, data::RecordStream& records, const AnswerHandler& handler,
                        int64_t most_samples) {
  records.check_ids(session.processor());
  if (session.bounded() && handler.skipped) {
    fail(ErrorKind::unsupported, "skip_bad: not with a `memory_budget` or a `deadline`");
  }
  if (session.bounded()) return answer_in_turn(session, records, handler, most_samples);
  return AnswerPipeline(session, records, handler, most_samples).run();
}

void format_answer(const AnswerHandler& handler, const Answer& answer, const data::Record& record,
                   const data::RecordStream& records, int64_t limit, std::string& out) {
  if (!handler.truncate && answer.truncated()) {
    fail(ErrorKind::usage, "{}: {} tokens are more than the limit of {}", records.where(record),
         answer.full_tokens, limit);
  }
  if (!handler.format) return;
  const size_t before = out.size();
  try {
    handler.format(record, answer, out);
  } catch (const Error& error) {
    out.resize(before);
    throw Error(error.kind(), records.where(record) + ": " + error.what());
  }
}

}  // namespace hone::infer

#include "infer/answer_pipeline.h"

#include <algorithm>

#include "base/error.h"
#include "data/image_processor.h"
#include "profile/recorder.h"

namespace hone::infer {
namespace {

// Records of this many bytes are read ahead: several lots of short texts.
constexpr size_t kBytesAhead = 2 << 20;
// Answers of this many bytes wait to be written: a GPU gives several of its batches of embeddings
// at once.
constexpr size_t kBytesToWrite = 16 << 20;
// This many answers are worth a task of the pool.
constexpr size_t kAnswersPerTask = 16;

size_t memory_of(const data::Record& record) { return sizeof record + data::bytes_of(record); }

/// Thrown where nobody takes answers any more; write_error_ says why.
struct WriterGone {};

}  // namespace

AnswerPipeline::AnswerPipeline(Session& session, data::RecordStream& records,
                               const AnswerHandler& handler, int64_t most_samples)
    : session_(session),
      records_(records),
      handler_(handler),
      runner_(session, most_samples),
      lots_(kBytesAhead),
      deliveries_(kBytesToWrite) {
  if (!session.truncates()) handler_.truncate = false;
}

AnswerPipeline::~AnswerPipeline() { stop(); }

void AnswerPipeline::stop() {
  lots_.close();
  deliveries_.close();
  records_.interrupt();
  if (reader_.joinable()) reader_.join();
  if (writer_.joinable()) writer_.join();
}

LineCounts AnswerPipeline::run() {
  reader_ = std::thread([this] { read(); });
  writer_ = std::thread([this] { write(); });
  std::exception_ptr error;
  try {
    compute();
  } catch (const WriterGone&) {
  } catch (...) {
    error = std::current_exception();
  }
  stop();
  for (const std::exception_ptr& first : {write_error_, error, read_error_}) {
    if (first) std::rethrow_exception(first);
  }
  return counts_;
}

void AnswerPipeline::read() {
  const profile::Span span("reading");
  try {
    BatchReader reader(records_);
    for (auto some = reader.next(); !some.empty(); some = reader.next()) {
      size_t bytes = 0;
      for (const data::Record& record : some) bytes += memory_of(record);
      std::vector<data::Record> taken(std::move_iterator(some.begin()),
                                      std::move_iterator(some.end()));
      if (!lots_.push({std::move(taken), reader.idle()}, bytes)) return;
    }
  } catch (...) {
    read_error_ = std::current_exception();
  }
  lots_.close();
}

std::optional<AnswerPipeline::Lot> AnswerPipeline::next_lot() {
  const profile::Span span("waiting for input", profile::Stage::loading);
  return lots_.pop();
}

void AnswerPipeline::compute() {
  while (std::optional<Lot> lot = next_lot()) {
    add(*lot);
    // A writer that sends the next record when this one is answered must not have to wait.
    if (lot->idle && lots_.empty()) runner_.flush();
    while (!runner_.empty() && lots_.empty()) deliver();
  }
  deliver_all();
}

void AnswerPipeline::add(Lot& lot) {
  const profile::Span span("packing", profile::Stage::loading);
  inputs_.clear();
  for (const data::Record& record : lot.records) inputs_.push_back(data::raw_of(record));
  if (handler_.skipped) return add_good(lot);
  const std::vector<data::EncodedSample>* samples = nullptr;
  try {
    samples = &session_.encode(inputs_);
  } catch (const Error&) {
    return add_one_by_one(lot);
  }
  for (size_t i = 0; i < lot.records.size(); ++i) pack((*samples)[i], lot.records[i]);
}

void AnswerPipeline::add_good(Lot& lot) {
  const std::vector<std::string> problems = session_.try_encode(inputs_);
  for (size_t i = 0; i < lot.records.size(); ++i) {
    if (problems.empty() || problems[i].empty()) {
      pack(session_.encoded()[i], lot.records[i]);
    } else {
      handler_.skipped(problems[i]);
    }
  }
}

void AnswerPipeline::add_one_by_one(Lot& lot) {
  for (size_t i = 0; i < lot.records.size(); ++i) {
    const std::vector<data::EncodedSample>* samples = nullptr;
    try {
      samples = &session_.encode({&inputs_[i], 1});
    } catch (const Error& error) {
      deliver_all();
      const std::string where = records_.where(lot.records[i]), what = error.what();
      throw Error(error.kind(), what.starts_with(where) ? what : where + ": " + what);
    }
    pack(samples->front(), lot.records[i]);
  }
}

void AnswerPipeline::pack(const data::EncodedSample& sample, data::Record& record) {
  runner_.add(sample);
  // A text may be far longer than what the model reads of it; an assignment would keep its memory.
  if (!session_.reads_images() || data::is_raw_image(record.text)) {
    std::string().swap(record.text);
  }
  record.pair.reset();
  std::vector<int32_t>().swap(record.ids);
  waiting_.push_back(std::move(record));
  while (runner_.full()) deliver();
}

void AnswerPipeline::deliver_all() {
  runner_.flush();
  while (!runner_.empty()) deliver();
}

void AnswerPipeline::deliver() {
  BatchAnswers batch = runner_.take();
  batch.wait();
  const profile::Span span("formatting answers", profile::Stage::writing);
  Delivery delivery;
  const auto end = waiting_.begin() + static_cast<ptrdiff_t>(batch.size());
  delivery.records.assign(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  format(batch, delivery);
  size_t bytes = delivery.answers.size() *
                 (sizeof(data::Record) + sizeof(Answer) + sizeof(float) * session_.output_width());
  for (const std::string& text : delivery.texts) bytes += text.size();
  if (!deliveries_.push(std::move(delivery), bytes)) throw WriterGone();
}

void AnswerPipeline::format(const BatchAnswers& batch, Delivery& delivery) {
  struct Part {
    std::string text;
    size_t end;  ///< end of the task's answers
    std::exception_ptr error;
  };
  ThreadPool& pool = session_.pool();
  const size_t count = batch.size();
  std::vector<Part> parts(
      std::clamp<size_t>(count / kAnswersPerTask, 1, static_cast<size_t>(2 * pool.size())));
  delivery.answers.resize(count);
  pool.run(std::ssize(parts), [&](int64_t task, int) {
    const auto number = static_cast<size_t>(task);
    Part& part = parts[number];
    const size_t last = (number + 1) * count / parts.size();
    for (part.end = number * count / parts.size(); part.end < last; ++part.end) {
      Answer& answer = delivery.answers[part.end] = batch.answer(part.end);
      try {
        format_answer(handler_, answer, delivery.records[part.end], records_, session_.max_units(),
                      part.text);
      } catch (const Error&) {
        part.error = std::current_exception();
        return;
      }
    }
  });
  for (Part& part : parts) {
    delivery.texts.push_back(std::move(part.text));
    if (!part.error) continue;
    delivery.answers.resize(part.end);
    delivery.error = part.error;
    return;
  }
}

void AnswerPipeline::write() {
  try {
    while (const std::optional<Delivery> delivery = deliveries_.pop()) {
      write(*delivery);
      if (delivery->error) std::rethrow_exception(delivery->error);
    }
  } catch (...) {
    write_error_ = std::current_exception();
    deliveries_.close();
    lots_.close();
    records_.interrupt();
  }
}

void AnswerPipeline::write(const Delivery& delivery) {
  const profile::Span span("writing");
  for (const std::string& text : delivery.texts) {
    if (handler_.write) handler_.write(text);
  }
  for (size_t i = 0; i < delivery.answers.size(); ++i) {
    if (handler_.answer) handler_.answer(delivery.records[i], delivery.answers[i]);
    counts_.add(delivery.answers[i]);
  }
  if (handler_.idle && deliveries_.empty()) handler_.idle();
  if (handler_.progress) handler_.progress(counts_);
}

}  // namespace hone::infer

#pragma once

#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "infer/batch_runner.h"
#include "infer/line_answers.h"

namespace hone::infer {

/// Answers a stream with everything under way at one time: a thread reads, the caller's encodes,
/// packs and computes with the session's pool, and a thread writes. On a GPU the caller's encodes
/// and formats for other batches while one computes; on a processor, whose threads compute, the
/// pool's threads do all three by turns, so that none is idle. What is between two threads is
/// bounded. How a file is cut into batches does not depend on time.
class AnswerPipeline {
 public:
  /// The arguments are those of answer_lines(). The session and the records must outlive this.
  AnswerPipeline(Session& session, data::RecordStream& records, const AnswerHandler& handler,
                 int64_t most_samples);
  /// It may run at any time, and interrupts a stream that waits for input.
  ~AnswerPipeline();
  AnswerPipeline(const AnswerPipeline&) = delete;
  AnswerPipeline& operator=(const AnswerPipeline&) = delete;

  /// Runs to the end, once. The first error in the order of the records is thrown when the answers
  /// before it have been written.
  LineCounts run();

 private:
  struct Lot {
    std::vector<data::Record> records;
    bool idle;  ///< whether the next record would have had to be waited for
  };
  /// Some answers in order. Where one gave an error, these are the ones before it.
  struct Delivery {
    std::vector<data::Record> records;
    std::vector<Answer> answers;
    std::vector<std::string> texts = {};
    std::exception_ptr error = {};
  };

  void read();
  void write();
  void write(const Delivery& delivery);
  std::optional<Lot> next_lot();
  void compute();
  /// Encodes records and packs them; batches that are full() meanwhile are delivered.
  void add(Lot& lot);
  /// Adds those that can be read, and tells the handler of the others.
  void add_good(Lot& lot);
  /// Adds records one by one, to say where the one is that cannot be encoded.
  void add_one_by_one(Lot& lot);
  void pack(const data::EncodedSample& sample, data::Record& record);
  void deliver_all();
  /// Takes the oldest batch, formats its answers by the pool's threads and hands them on.
  void deliver();
  void format(const BatchAnswers& batch, Delivery& delivery);
  void stop();

  Session& session_;
  data::RecordStream& records_;
  AnswerHandler handler_;
  BatchRunner runner_;
  BoundedQueue<Lot> lots_;
  BoundedQueue<Delivery> deliveries_;
  std::deque<data::Record> waiting_;  ///< records that have been packed, without their texts
  std::vector<Input> inputs_;
  LineCounts counts_;               ///< belongs to the writing thread
  std::exception_ptr read_error_;   ///< belongs to the reading thread, until it has ended
  std::exception_ptr write_error_;  ///< belongs to the writing thread, until it has ended
  std::thread reader_;
  std::thread writer_;
};

}  // namespace hone::infer

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "infer/session.h"

namespace hone::infer {

/// The answers to the samples of one batch, on their way from the device or there.
class BatchAnswers {
 public:
  size_t size() const { return sizes_.size(); }
  /// Waits for the device; answer() needs that.
  void wait();
  /// Gives the answer to a sample, whose values go to `row` where that is not null. Several threads
  /// may call it at one time.
  Answer answer(size_t i, float* row = nullptr) const;

 private:
  friend class BatchRunner;
  struct Size {
    int64_t units;
    int64_t full;
    int64_t width;
    int64_t height;
  };
  std::vector<Size> sizes_;
  StartedBatch batch_;
  const float* rows_ = nullptr;
  size_t width_ = 0;
};

/// Packs samples into batches that are efficient on the session's device and runs them in order. A
/// device that works by itself has the next batches at hand while it computes one, so that the host
/// can encode samples and use answers meanwhile. Two threads may not use it at once.
class BatchRunner {
 public:
  /// The session must outlive this. A batch has at most `most_samples` and `most_units`; 0: as many
  /// as are efficient.
  explicit BatchRunner(Session& session, int64_t most_samples = 0, int64_t most_units = 0);
  /// Waits for batches under way.
  ~BatchRunner();
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  /// Says whether a sample can be packed behind the others without starting them.
  bool fits(const data::EncodedSample& sample) const;
  /// Packs a sample behind the others; a batch that it does not fit into is started. Where full()
  /// is true, a batch has to be taken first. A sample that the model cannot read is an error that
  /// leaves everything as it was.
  void add(const data::EncodedSample& sample);
  int64_t packed_samples() const { return std::ssize(sizes_); }
  int64_t packed_units() const { return batch_.units; }
  /// Starts what is packed.
  void flush();
  /// Says whether as many batches are under way as the device needs.
  bool full() const { return started_.size() > ahead_; }
  /// Says whether no batch is under way; samples may be packed.
  bool empty() const { return started_.empty(); }
  /// Takes the oldest batch under way, without waiting for it.
  BatchAnswers take();

 private:
  Session& session_;
  size_t most_samples_;
  int64_t most_units_;
  size_t ahead_;
  data::Batch batch_;
  std::vector<BatchAnswers::Size> sizes_;  ///< sizes of the samples in batch_
  std::deque<BatchAnswers> started_;
};

}  // namespace hone::infer

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "tensor/dtype.h"

namespace hone::io {

/// A tensor to be written.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

/// Streams tensors into one safetensors file, which appears complete on commit() or not at all.
/// All tensors are declared first; their data then follows in the order of tensors().
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors);

  /// Gives the tensors in the order in which their data must be written: by falling size of dtype,
  /// so that each is aligned, then by name.
  const std::vector<TensorSpec>& tensors() const { return tensors_; }

  /// Writes the next `count` elements of the current tensor, converted from fp32 to its dtype (f64,
  /// f32, f16 or bf16). A tensor may be written in several pieces.
  void write(const float* values, int64_t count);
  /// Writes the next `count` elements, already in the tensor's dtype.
  void write_raw(const void* values, int64_t count);
  /// Publishes the file; every tensor must be complete.
  void commit();

  /// Says whether every tensor has all its data.
  bool complete() const { return current_ == tensors_.size(); }
  /// Fails with an internal error unless complete().
  void check_complete() const;

 private:
  /// Gives the tensor that the next `count` elements belong to.
  const TensorSpec& take(int64_t count);
  void next_tensor();

  std::string path_;
  OutputFile file_;
  std::vector<TensorSpec> tensors_;
  size_t current_ = 0;
  int64_t left_ = 0;  ///< elements of the current tensor not yet written
};

/// The weights of a model folder: `model.safetensors`, or, where they exceed `max_shard_bytes`,
/// `model-00001-of-0000N.safetensors` and so on with `model.safetensors.index.json`. The names
/// appear on commit() alone.
class WeightsWriter {
 public:
  /// `max_shard_bytes` 0 is no limit. A tensor larger than the limit gets a shard of its own.
  WeightsWriter(const std::string& folder, std::vector<TensorSpec> tensors,
                uint64_t max_shard_bytes = 0);

  /// Gives the tensors in the order in which their data must be written.
  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  /// The calls that write are those of SafetensorsWriter.
  void write(const float* values, int64_t count);
  void write_raw(const void* values, int64_t count);
  void commit();

 private:
  SafetensorsWriter& shard();
  void write_index() const;

  struct Shard {
    std::string name;
    std::unique_ptr<SafetensorsWriter> writer;
  };
  std::string folder_;
  std::vector<TensorSpec> tensors_;
  std::vector<Shard> shards_;
  size_t current_ = 0;  ///< shard being written
};

}  // namespace hone::io

#pragma once

#include <cstdint>
#include <memory>

#include "base/mapped_window.h"
#include "device/memory.h"
#include "models/encoder.h"
#include "models/load.h"
#include "models/packed_file.h"

namespace hone::infer {

/// A matrix that is there for a while: a window of a file, or memory of its own.
struct HeldMatrix {
  MappedWindow window = {};
  Buffer memory = {};

  const void* data() const { return window.data() ? window.data() : memory.data(); }
};

/// Where an encoder's weights come from, slot by slot.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// Packed, as the encoder's slot is. In wide_bytes() where `wide`, which is faster.
  virtual HeldMatrix matrix(const nn::Parameter& parameter, bool wide, ThreadPool& pool) = 0;
  virtual uint64_t wide_bytes(const nn::Parameter& parameter) const = 0;
  virtual void vector(const nn::Parameter& parameter, void* out) = 0;
  /// A row into its place in a whole table at `table`.
  virtual void row(const nn::Parameter& parameter, int64_t row, void* table) = 0;
  /// That this matrix, or this row of a table, is wanted soon.
  virtual void announce(const nn::Parameter& parameter) = 0;
  virtual void announce_row(const nn::Parameter& parameter, int64_t row) = 0;
  /// Behind a pass: error where something that was read may be of a file that has changed.
  virtual void finish() = 0;
  /// Memory of its own while it gives a matrix.
  virtual size_t scratch_bytes() const = 0;
  virtual const std::string& path() const = 0;
};

/// Of `hone convert --stream`. `file` has been checked against the encoder.
std::unique_ptr<WeightSource> packed_source(std::unique_ptr<models::PackedFile> file);

/// Of any checkpoint, packed anew each time that a matrix is wanted; all must outlive it.
std::unique_ptr<WeightSource> checkpoint_source(const models::Encoder& encoder,
                                                std::unique_ptr<io::Weights> weights,
                                                std::unique_ptr<models::Adapter> adapter,
                                                models::LoadReport& report);

}  // namespace hone::infer

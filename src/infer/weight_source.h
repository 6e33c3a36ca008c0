#pragma once

#include <cstdint>
#include <memory>

#include "base/mapped_window.h"
#include "device/memory.h"
#include "models/load.h"
#include "models/model.h"
#include "models/packed_file.h"

namespace hone::infer {

/// A matrix that is there for a while: a window of a file, or memory of its own.
struct HeldMatrix {
  MappedWindow window = {};
  Buffer memory = {};

  const void* data() const { return window.data() ? window.data() : memory.data(); }
};

/// Gives a model's weights, slot by slot.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// Gives a matrix, packed as the model's slot is. Where `huge_pages`, it takes huge_page_bytes(),
  /// which is faster.
  virtual HeldMatrix matrix(const nn::Parameter& parameter, bool huge_pages, ThreadPool& pool) = 0;
  virtual uint64_t huge_page_bytes(const nn::Parameter& parameter) const = 0;
  virtual void vector(const nn::Parameter& parameter, void* out) = 0;
  /// Reads a row into its place in a whole table at `table`.
  virtual void row(const nn::Parameter& parameter, int64_t row, void* table) = 0;
  /// Announces that this matrix, or this row of a table, is wanted soon; returns at once.
  virtual void announce(const nn::Parameter& parameter) = 0;
  virtual void announce_row(const nn::Parameter& parameter, int64_t row) = 0;
  /// Ends a pass: fails where something that was read may be of a file that has changed.
  virtual void finish() = 0;
  /// Gives the bytes of its own memory while it gives a matrix.
  virtual size_t scratch_bytes() const = 0;
  virtual const std::string& path() const = 0;
};

/// Gives weights from a file of `hone convert --stream`, which has been checked against the model.
std::unique_ptr<WeightSource> packed_source(std::unique_ptr<models::PackedFile> file);

/// Gives weights from any checkpoint, packed anew each time that a matrix is wanted; all arguments
/// must outlive it.
std::unique_ptr<WeightSource> checkpoint_source(const models::Model& model,
                                                std::unique_ptr<io::Weights> weights,
                                                std::unique_ptr<models::Adapter> adapter,
                                                models::LoadReport& report);

}  // namespace hone::infer

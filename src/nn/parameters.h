#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/cpu_info.h"
#include "device/memory.h"
#include "plan/value.h"

namespace hone::nn {

enum class ParameterKind {
  matrix,  ///< [rows, width] of a matrix product, packed for the instruction set
  table,   ///< [rows, width], row-major, read by row
  vector,  ///< [1, width] fp32
};

/// A slot and the checkpoint tensors whose rows fill it, one after the other.
struct Parameter {
  Weight weight;
  ParameterKind kind;
  std::vector<std::string> tensors;
};

/// A model's weights: declared while the model is built, allocated once as one arena, filled by a
/// loader. Every tensor is named as its family's checkpoints name it, without prefix.
class Parameters {
 public:
  explicit Parameters(Isa isa) : isa_(isa) {}

  /// The tensors are stacked along rows: all have `width` columns and equal shares of `rows`.
  Weight matrix(std::vector<std::string> tensors, int64_t rows, int64_t width, DType dtype);
  Weight table(std::string tensor, int64_t rows, int64_t width, DType dtype);
  Weight vector(std::vector<std::string> tensors, int64_t width);

  const std::vector<Parameter>& list() const { return list_; }
  Isa isa() const { return isa_; }
  /// Bytes of the arena that allocate() takes.
  size_t bytes() const;
  void allocate();
  /// Where a slot's contents go, laid out as its kind says; valid after allocate().
  void* data(const Weight& weight) {
    return const_cast<void*>(pointers_[static_cast<size_t>(weight.slot)]);
  }
  std::span<const void* const> pointers() const { return pointers_; }

  /// The arena as fp32, where all slots are: what an optimiser updates. Slots lie apart by a little
  /// padding.
  float* arena() { return arena_.as<float>(); }
  /// In fp32 elements: where a slot starts in the arena, and how many it has, packed.
  int64_t offset(const Weight& weight) const;
  int64_t elements(const Weight& weight) const;

 private:
  Weight add(ParameterKind kind, std::vector<std::string> tensors, int64_t rows, int64_t width,
             DType dtype);
  size_t bytes_of(const Parameter& parameter) const;

  Isa isa_;
  std::vector<Parameter> list_;
  std::vector<const void*> pointers_;
  Buffer arena_;
};

}  // namespace hone::nn

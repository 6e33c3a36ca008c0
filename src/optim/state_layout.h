#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nn/parameters.h"

namespace hone::optim {

enum class OptimizerKind { adamw, sgd, adamw_8bit, adafactor };
std::string_view optimizer_name(OptimizerKind kind);
/// `name` is one of these, or another that Trainer has for the same formulas (adamw_torch,
/// adamw_bnb_8bit). The option that it comes from is called `field` in messages.
OptimizerKind parse_optimizer(std::string_view name, std::string_view field);

/// An array that an optimiser keeps of trainable slots beside their gradients.
struct StateKind {
  const char* name;  ///< torch's name of it
  DType dtype = DType::f32;
  /// Whether the elements lie as the weight's do; else they are in an order of the optimiser's own.
  bool like_weight = true;
};

/// Says where gradients and an optimiser's arrays of each slot lie, in flat arrays that hold what
/// is trained alone.
class StateLayout {
 public:
  /// In 8 bits a slot with fewer elements than this keeps moments in fp32, as in bitsandbytes.
  static constexpr int64_t kLeastQuantized = 4096;
  /// The kinds of adamw_8bit, by index: fp32 moments of small slots, then codes and scales.
  enum Quantized : size_t { small_m, small_v, m_codes, m_scales, v_codes, v_scales };

  /// The kinds of adafactor: those of matrices and tables by row and by column, and of vectors.
  enum Factored : size_t { row_squares, column_squares, squares };

  StateLayout(const nn::Parameters& parameters, const std::vector<bool>& trainable,
              OptimizerKind kind, double momentum);

  struct Place {
    int64_t begin = 0;
    int64_t count = 0;  ///< elements; 0: there are none
  };
  /// Places of gradients are in the order of Parameters::layout().
  const std::vector<Place>& gradients() const { return gradients_.places; }
  int64_t gradient_elements() const { return gradients_.elements; }
  /// Gives the begins of gradients() in bytes, as GradientArray has them.
  std::vector<size_t> gradient_offsets() const;
  std::span<const StateKind> kinds() const { return kinds_; }
  const Place& place(size_t kind, const Weight& weight) const {
    return arrays_[kind].places[static_cast<size_t>(weight.slot)];
  }
  /// Gives the elements and the bytes of all slots' arrays of a kind, padding among them.
  int64_t elements(size_t kind) const { return arrays_[kind].elements; }
  size_t bytes(size_t kind) const;
  /// Gives the bytes of all kinds.
  size_t bytes() const;

 private:
  struct Array {
    std::vector<Place> places;  ///< by slot
    int64_t elements = 0;
  };
  /// Appends the array of a kind with `count(slot)` elements of each slot, which begin at multiples
  /// of `alignment`.
  template <typename Count>
  void add(const StateKind& kind, int64_t alignment, const Count& count);
  void add_factored(const nn::Parameters& parameters, const std::vector<bool>& trainable);
  template <typename Count>
  Array lay_out(int64_t alignment, const Count& count) const;

  std::vector<size_t> order_;  ///< slots, as gradients lie
  Array gradients_;
  std::vector<StateKind> kinds_;
  std::vector<Array> arrays_;
};

}  // namespace hone::optim

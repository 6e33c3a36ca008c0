#pragma once

#include "kernels/cpu/loss.h"

namespace hone::kernels {

/// The losses, by what the labels are: classes, values, flags.
enum class TeacherKind : uint8_t { classes, values, flags };
struct Distillation {
  TeacherKind kind = TeacherKind::classes;
  double temperature = 1;
};

/// Adds (+=) to the outputs of a loss what a teacher's logits ask for, all [n, classes]. Classes
/// cost T^2 KL(softmax(teacher / T) || softmax(logits / T)) (Hinton et al., 2015), flags the mean
/// of the same over each flag's two outcomes, and values the mean of their squared differences.
/// outputs.losses is not written.
template <typename T>
void add_distillation(const T* logits, const T* teacher, int64_t n, int64_t classes,
                      const Distillation& options, LossScale scale, const LossOutputs<T>& outputs);

}  // namespace hone::kernels

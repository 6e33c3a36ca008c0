#pragma once

#include "study/study.h"

/// What is read of the outputs of a case's commands.
namespace hone::study {

/// The folder that trainings of cases write, below the run's own.
constexpr std::string_view kTrained = "{run}/trained";
/// The folder that profiles of cases write.
constexpr std::string_view kProfiled = "{run}/profile";

/// Reads a training: time, samples a second, memory, the first metric, the machine's use; curves of
/// the loss by epoch and by time. Where a loss is aimed at, the time to it.
void read_training(const RunOutputs& outputs, const StudySettings& settings, Readings& readings);
/// Reads the stages of a profiled training, and what read_training() does.
void read_stages(const RunOutputs& outputs, const StudySettings& settings, Readings& readings);
/// Reads the numbers of the JSON object that the last command printed, and its "metrics".
void read_printed(const RunOutputs& outputs, const StudySettings& settings, Readings& readings);

/// Gives the first time at which a loss, smoothed over five lines, is at most `target`; NAN where
/// it never is.
double time_to_loss(const std::vector<double>& seconds, const std::vector<double>& losses,
                    double target);

}  // namespace hone::study

#pragma once

#include <string>
#include <vector>

#include "report/records.h"
#include "report/report.h"

/// What a step takes with more ranks than there are, modelled from measured runs: computing takes
/// as long as with one rank, a sum over N ranks takes 2 (N - 1) latencies and moves 2 (N - 1) / N
/// times the gradient, and a part of it passes while the backward pass goes on.
namespace hone::study {

/// What was measured with a number of ranks, in milliseconds a step.
struct MeasuredStep {
  double ranks = 1;
  double step_ms = 0;
  double busy_ms = 0;     ///< communication in all
  double exposed_ms = 0;  ///< communication that the step waited for
};

struct StepModel {
  double compute_ms = 0;     ///< a step of one rank
  double latency_ms = 0;     ///< a latency; a sum has 2 (N - 1) of them
  double transfer_ms = 0;    ///< the gradient once through a link, twice
  double hidden_ms = 0;      ///< the most of it that passes meanwhile
  double exposed_share = 0;  ///< the least share of it that is waited for

  double communication_ms(double ranks) const;
  double step_ms(double ranks) const;
};

/// Gives the medians of the cases of a study of scaling that had all the data, by ranks. They are
/// of one machine and one model, or it is an error.
std::vector<MeasuredStep> measured_steps(const std::vector<report::StudyRuns>& studies);

/// Fits the model: computing from one rank, latency and transfer by least squares to what several
/// took for communication. Steps of 1 rank and of two larger numbers at least are needed.
StepModel fit_steps(const std::vector<MeasuredStep>& steps);

struct Prediction {
  double ranks = 0;
  double modelled_ms = 0;
  double measured_ms = 0;  ///< 0: not measured
  /// Gives the share of the measured time by which the modelled one is off.
  double off() const;
};

struct Simulation {
  StepModel model;
  std::vector<Prediction> checked = {};  ///< the measured numbers of ranks
  std::vector<Prediction> beyond = {};  ///< 8 to 1,024; none where a checked one is off by over 10%
};

/// Predicts the measured runs of 2, 4 and 8 ranks, which have to be there, and where all are within
/// 10% what is beyond.
Simulation simulate(const std::vector<MeasuredStep>& steps);
report::Section section_of(const Simulation& simulation);

}  // namespace hone::study

#pragma once

/// What one step of an LSTM reads and writes of one sequence. It is internal.
namespace hone::kernels {

/// A row's arrays at one step. `sums` are the recurrent share of the gates, or null at the first.
template <typename T>
struct CellForward {
  const T* x;
  const float* bias;
  const float* sums;
  float* c;  ///< the state, read and written
  T* h;
  T* gates;
  float* cells;
};

template <typename T>
struct CellBackward {
  const T* dh;
  const T* gates;
  const float* c;
  const float* c_before;  ///< null at the first step
  float* dh_next;         ///< what the step behind gives h; it is read
  float* dc_next;         ///< what the step behind gives c; it is read and written
  T* dx;
};

}  // namespace hone::kernels

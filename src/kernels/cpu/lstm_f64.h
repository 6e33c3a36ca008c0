#pragma once

#include "kernels/cpu/lstm.h"

/// The LSTM in double, plainly, for checks of gradients through the code that trains.
namespace hone::kernels {

size_t lstm_workspace_f64(const LstmShape& shape);
void lstm_forward_f64(const LstmShape& shape, const LstmForward<double>& args, void* workspace);
void lstm_backward_f64(const LstmShape& shape, const LstmBackward<double>& args, void* workspace);

}  // namespace hone::kernels

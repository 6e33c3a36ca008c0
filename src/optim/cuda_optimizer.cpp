#include "optim/cuda_optimizer.h"

#include <algorithm>
#include <cstddef>

#include "base/error.h"
#include "nn/cuda_weights.h"

namespace hone::optim {

namespace cuda = kernels::cuda;

CudaOptimizer::CudaOptimizer(nn::Parameters& parameters, std::vector<bool> trainable,
                             const OptimizerOptions& options)
    : Optimizer(parameters, std::move(trainable), options) {
  CudaStream& stream = cuda_stream();
  const bool adamw = options.kind == OptimizerKind::adamw;
  const auto make = [&](CudaBuffer& array, bool wanted) {
    if (!wanted) return;
    array = CudaBuffer(parameters.bytes());
    stream.fill(array.data(), 0, array.size());
  };
  make(gradients_, true);
  make(m_, adamw || options.momentum > 0);
  make(v_, adamw);
  size_t rows = 0;
  for (const nn::Parameter& parameter : parameters.list()) {
    if (parameter.kind == nn::ParameterKind::table)
      rows += static_cast<size_t>(parameter.weight.rows);
  }
  flags_ = CudaBuffer(rows);
  stream.fill(flags_.data(), 0, rows);
  uint8_t* flag = flags_.as<uint8_t>();
  for (const nn::Parameter& parameter : parameters.list()) {
    const bool trained = trainable_[static_cast<size_t>(parameter.weight.slot)];
    gradient_pointers_.push_back(
        trained ? gradients_.as<float>() + parameters.offset(parameter.weight) : nullptr);
    const bool table = parameter.kind == nn::ParameterKind::table;
    const bool marks = table && trained && cuda::marks_rows(parameter.weight.width);
    touched_.push_back(marks ? flag : nullptr);
    if (table) flag += parameter.weight.rows;
  }
  state_ = CudaBuffer(sizeof(cuda::OptimizerState));
  stream.fill(state_.data(), 0, state_.size());
  settings_ = PinnedBuffer(turns_.size() * sizeof(cuda::OptimizerState));
  reports_ = PinnedBuffer(turns_.size() * sizeof(cuda::OptimizerState));
  make_pieces();
}

void CudaOptimizer::make_pieces() {
  std::vector<cuda::OptimizerRange> ranges;
  for (const nn::Parameter& parameter : parameters_.list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    if (!trainable_[slot]) continue;
    const int64_t begin = parameters_.offset(parameter.weight);
    cuda::OptimizerRange range{begin, begin + parameters_.elements(parameter.weight),
                               !parameter.is_vector()};
    range.zero = slot >= set_.size() || !set_[slot];
    if (touched_[slot]) {
      range.row_width = parameter.weight.width;
      range.touched = touched_[slot];
    }
    ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const std::vector<cuda::OptimizerPiece> pieces = cuda::optimizer_pieces(ranges);
  CudaStream& stream = cuda_stream();
  piece_count_ = static_cast<int64_t>(pieces.size());
  pieces_ = CudaBuffer(pieces.size() * sizeof pieces[0]);
  stream.copy(pieces_.data(), pieces.data(), pieces_.size());
  workspace_ = CudaBuffer(cuda::kernel_api().optimizer_workspace(piece_count_));
  stream.fill(workspace_.data(), 0, workspace_.size());
  stream.synchronize();
}

void CudaOptimizer::set_gradients_set(const std::vector<bool>& slots) {
  set_ = slots;
  make_pieces();
}

GradientArray CudaOptimizer::gradient_array() const {
  return {gradients_.data(), gradients_.size(), parameters_.layout()};
}

bool CudaOptimizer::gradient_is_finite(const Weight& weight) const {
  if (!gradient_pointers_[static_cast<size_t>(weight.slot)]) return true;
  std::vector<float> rows(static_cast<size_t>(weight.rows * weight.width));
  read_gradient(weight, rows.data());
  return all_finite(DType::f32, rows.data(), static_cast<int64_t>(rows.size()));
}

void CudaOptimizer::copy_gradient(const Weight& weight, float* out) const {
  cuda_stream().copy(out, gradient_pointers_[static_cast<size_t>(weight.slot)],
                     static_cast<size_t>(parameters_.elements(weight)) * sizeof(float));
  cuda_stream().synchronize();
}

void CudaOptimizer::copy_touched(const Weight& weight, uint8_t* out) const {
  cuda_stream().copy(out, touched_[static_cast<size_t>(weight.slot)],
                     static_cast<size_t>(weight.rows));
  cuda_stream().synchronize();
}

void CudaOptimizer::put_gradient(const Weight& weight, const float* data) {
  cuda_stream().copy(gradient_pointers_[static_cast<size_t>(weight.slot)], data,
                     static_cast<size_t>(parameters_.elements(weight)) * sizeof(float));
  cuda_stream().synchronize();
}

void CudaOptimizer::put_touched(const Weight& weight, uint8_t mark) {
  cuda_stream().fill(touched_[static_cast<size_t>(weight.slot)], mark,
                     static_cast<size_t>(weight.rows));
}

void CudaOptimizer::drop_gradients() {
  cuda_stream().fill(gradients_.data(), 0, gradients_.size());
  cuda_stream().fill(flags_.data(), 0, flags_.size());
}

Optimizer::Ticket CudaOptimizer::start_step(double learning_rate, ThreadPool&, double loss_scale) {
  CudaStream& stream = cuda_stream();
  const size_t turn = next_;
  next_ = (next_ + 1) % turns_.size();
  turns_[turn].begin.record(stream);
  auto* settings = settings_.as<cuda::OptimizerState>() + turn;
  *settings = {.lr = learning_rate,
               .beta1 = options_.beta1,
               .beta2 = options_.beta2,
               .eps = options_.eps,
               .weight_decay = options_.weight_decay,
               .max_grad_norm = options_.max_grad_norm,
               .loss_scale = loss_scale,
               .momentum = options_.momentum,
               .step = 0,
               .grad_norm = 0,
               .skipped = 0};
  stream.copy(state_.data(), settings, offsetof(cuda::OptimizerState, step));
  nn::CudaArrays& weights = dynamic_cast<nn::CudaWeights&>(parameters_.device()).changing();
  cuda::OptimizerArrays arrays;
  arrays.parameters = weights.master();
  arrays.gradients = gradients_.as<float>();
  arrays.m = m_.as<float>();
  arrays.v = v_.as<float>();
  arrays.copy = weights.copies();
  arrays.copy_dtype = weights.copies() ? weights.copy_dtype() : DType::bf16;
  const bool adamw = options_.kind == OptimizerKind::adamw;
  const auto update = adamw ? cuda::kernel_api().adamw : cuda::kernel_api().sgd;
  cuda_check(update(arrays, pieces_.as<cuda::OptimizerPiece>(), piece_count_,
                    state_.as<cuda::OptimizerState>(), workspace_.data(), stream.handle()),
             adamw ? "adamw" : "sgd");
  stream.copy(reports_.as<cuda::OptimizerState>() + turn, state_.data(), state_.size());
  turns_[turn].end.record(stream);
  return {{}, turn};
}

cuda::OptimizerState CudaOptimizer::read_state() const {
  cuda::OptimizerState state{};
  cuda_stream().copy(&state, state_.data(), sizeof state);
  cuda_stream().synchronize();
  return state;
}

StepReport CudaOptimizer::report(const Ticket& ticket) {
  const size_t turn = ticket.turn;
  turns_[turn].end.synchronize();
  seconds_ += 1e-3 * static_cast<double>(turns_[turn].end.since(turns_[turn].begin));
  const cuda::OptimizerState& state = reports_.as<cuda::OptimizerState>()[turn];
  return {state.grad_norm, state.skipped != 0};
}

int64_t CudaOptimizer::steps() const { return read_state().step; }

void CudaOptimizer::set_steps(int64_t steps) {
  cuda_stream().copy(state_.as<std::byte>() + offsetof(cuda::OptimizerState, step), &steps,
                     sizeof steps);
  cuda_stream().synchronize();
}

void CudaOptimizer::fetch_moments() {
  if (host_m_.size() == 0) {
    host_m_ = Buffer(m_.size());
    host_v_ = Buffer(v_.size());
  }
  cuda_stream().copy(host_m_.data(), m_.data(), m_.size());
  cuda_stream().copy(host_v_.data(), v_.data(), v_.size());
  cuda_stream().synchronize();
}

void CudaOptimizer::send_moments() {
  cuda_stream().copy(m_.data(), host_m_.data(), host_m_.size());
  cuda_stream().copy(v_.data(), host_v_.data(), host_v_.size());
  cuda_stream().synchronize();
}

const float* CudaOptimizer::device_part(const CudaBuffer& array, const Weight& weight) const {
  if (array.size() == 0 || !trainable_[static_cast<size_t>(weight.slot)]) return nullptr;
  return array.as<float>() + parameters_.offset(weight);
}

float* CudaOptimizer::host_part(const CudaBuffer& array, Buffer& host, const Weight& weight) {
  if (!device_part(array, weight)) return nullptr;
  if (host.size() == 0) fetch_moments();
  return host.as<float>() + parameters_.offset(weight);
}

}  // namespace hone::optim

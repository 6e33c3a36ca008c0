#include "optim/cuda_optimizer.h"

#include <algorithm>
#include <cstddef>

#include "base/error.h"
#include "nn/cuda_weights.h"

namespace hone::optim {

namespace cuda = kernels::cuda;

namespace {

decltype(&cuda::adamw) update_of(OptimizerKind kind) {
  const cuda::KernelApi& api = cuda::kernel_api();
  switch (kind) {
    case OptimizerKind::adamw:
      return api.adamw;
    case OptimizerKind::sgd:
      return api.sgd;
    case OptimizerKind::adamw_8bit:
      return api.adamw_8bit;
    case OptimizerKind::adafactor:
      break;
  }
  fail(ErrorKind::internal, "an optimiser without a kernel");
}

}  // namespace

CudaOptimizer::CudaOptimizer(nn::Parameters& parameters, std::vector<bool> trainable,
                             const OptimizerOptions& options)
    : Optimizer(parameters, std::move(trainable), options) {
  CudaStream& stream = cuda_stream();
  const auto make = [&](size_t bytes) {
    CudaBuffer array(bytes);
    if (bytes > 0) stream.fill(array.data(), 0, bytes);
    return array;
  };
  gradients_ = make(static_cast<size_t>(layout_.gradient_elements()) * sizeof(float));
  for (size_t kind = 0; kind < layout_.kinds().size(); ++kind) {
    state_.push_back(make(layout_.bytes(kind)));
  }
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
    const int64_t at = layout_.gradients()[static_cast<size_t>(parameter.weight.slot)].begin;
    gradient_pointers_.push_back(trained ? gradients_.as<float>() + at : nullptr);
    const bool table = parameter.kind == nn::ParameterKind::table;
    const bool marks =
        table && trained && cuda::marks_rows(parameter.weight.width, is_quantized(parameter));
    touched_.push_back(marks ? flag : nullptr);
    if (table) flag += parameter.weight.rows;
  }
  numbers_ = CudaBuffer(sizeof(cuda::OptimizerState));
  stream.fill(numbers_.data(), 0, numbers_.size());
  settings_ = PinnedBuffer(turns_.size() * sizeof(cuda::OptimizerState));
  reports_ = PinnedBuffer(turns_.size() * sizeof(cuda::OptimizerState));
  make_pieces();
}

bool CudaOptimizer::is_quantized(const nn::Parameter& parameter) const {
  return options_.kind == OptimizerKind::adamw_8bit &&
         layout_.place(StateLayout::m_codes, parameter.weight).count > 0;
}

void CudaOptimizer::make_pieces() {
  std::vector<cuda::OptimizerRange> ranges;
  for (const nn::Parameter& parameter : parameters_.list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    if (!trainable_[slot]) continue;
    const bool quantized = is_quantized(parameter);
    const int64_t gradient = layout_.gradients()[slot].begin;
    int64_t begin = gradient;
    if (options_.kind == OptimizerKind::adamw_8bit) {
      const size_t kind = quantized ? StateLayout::m_codes : StateLayout::small_m;
      begin = layout_.place(kind, parameter.weight).begin;
    }
    cuda::OptimizerRange range{begin, begin + parameters_.elements(parameter.weight),
                               !parameter.is_vector()};
    range.shift = parameters_.offset(parameter.weight) - begin;
    range.gradient_shift = gradient - begin;
    range.quantized = quantized;
    range.zero = slot >= set_.size() || !set_[slot];
    if (touched_[slot]) {
      range.row_width = parameter.weight.width;
      range.touched = touched_[slot];
    }
    ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.begin + a.shift < b.begin + b.shift; });
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
  return {gradients_.data(), gradients_.size(), layout_.gradient_offsets()};
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
               .nesterov = options_.nesterov ? 1 : 0,
               .step = 0,
               .grad_norm = 0,
               .skipped = 0};
  stream.copy(numbers_.data(), settings, offsetof(cuda::OptimizerState, step));
  const auto update = update_of(options_.kind);
  cuda_check(update(arrays(), pieces_.as<cuda::OptimizerPiece>(), piece_count_,
                    numbers_.as<cuda::OptimizerState>(), workspace_.data(), stream.handle()),
             optimizer_name(options_.kind).data());
  stream.copy(reports_.as<cuda::OptimizerState>() + turn, numbers_.data(), numbers_.size());
  turns_[turn].end.record(stream);
  return {{}, turn};
}

cuda::OptimizerArrays CudaOptimizer::arrays() {
  nn::CudaArrays& weights = dynamic_cast<nn::CudaWeights&>(parameters_.device()).changing();
  cuda::OptimizerArrays arrays;
  arrays.parameters = weights.master();
  arrays.gradients = gradients_.as<float>();
  arrays.copy = weights.copies();
  arrays.copy_dtype = weights.copies() ? weights.copy_dtype() : DType::bf16;
  if (!state_.empty()) arrays.m = state_[0].as<float>();
  if (state_.size() > 1) arrays.v = state_[1].as<float>();
  if (options_.kind == OptimizerKind::adamw_8bit) {
    const auto moments = [&](size_t codes, size_t scales) {
      return cuda::QuantizedMoments{state_[codes].as<uint8_t>(), state_[scales].as<float>()};
    };
    arrays.quantized_m = moments(StateLayout::m_codes, StateLayout::m_scales);
    arrays.quantized_v = moments(StateLayout::v_codes, StateLayout::v_scales);
  }
  return arrays;
}

cuda::OptimizerState CudaOptimizer::read_numbers() const {
  cuda::OptimizerState state{};
  cuda_stream().copy(&state, numbers_.data(), sizeof state);
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

int64_t CudaOptimizer::steps() const { return read_numbers().step; }

void CudaOptimizer::set_steps(int64_t steps) {
  cuda_stream().copy(numbers_.as<std::byte>() + offsetof(cuda::OptimizerState, step), &steps,
                     sizeof steps);
  cuda_stream().synchronize();
}

void CudaOptimizer::fetch_state() {
  if (host_.empty()) {
    for (const CudaBuffer& array : state_) host_.emplace_back(array.size());
  }
  for (size_t kind = 0; kind < state_.size(); ++kind) {
    cuda_stream().copy(host_[kind].data(), state_[kind].data(), state_[kind].size());
  }
  cuda_stream().synchronize();
}

void CudaOptimizer::send_state() {
  for (size_t kind = 0; kind < host_.size(); ++kind) {
    cuda_stream().copy(state_[kind].data(), host_[kind].data(), host_[kind].size());
  }
  cuda_stream().synchronize();
}

void* CudaOptimizer::state(size_t kind, const Weight& weight) {
  if (host_.empty()) fetch_state();
  return part(host_[kind].as<std::byte>(), kind, weight);
}

}  // namespace hone::optim

#include "cuda/roberta_model.h"

namespace hone::bench {

void Parameters::add(Place& place, int64_t rows, int64_t width, bool matrix, bool zero) {
  place = {count, rows * width};
  ranges_.push_back({count, count + rows * width, matrix, 1.0f, zero});
  count += (rows * width + 127) / 128 * 128;
}

/// Gradients of the layers' matrices are written, not added to, so nothing has to zero them.
Parameters::Parameters(Arena& arena, CudaStream& stream, bool training) {
  add(word, kWords, kHidden, true, true);
  add(position, kPositions, kHidden, true, true);
  add(type, 1, kHidden, true, true);
  add(norm, 1, kHidden, false, true);
  add(norm_bias, 1, kHidden, false, true);
  for (LayerPlaces& l : layers) {
    add(l.qkv, 3 * kHidden, kHidden, true, false);
    add(l.o, kHidden, kHidden, true, false);
    add(l.f1, kInner, kHidden, true, false);
    add(l.f2, kHidden, kInner, true, false);
    add(l.qkv_bias, 1, 3 * kHidden, false, true);
    add(l.f1_bias, 1, kInner, false, true);
    for (Place* p : {&l.o_bias, &l.norm1, &l.norm1_bias, &l.f2_bias, &l.norm2, &l.norm2_bias}) {
      add(*p, 1, kHidden, false, true);
    }
  }
  add(pooler, kHidden, kHidden, true, false);
  add(pooler_bias, 1, kHidden, false, true);
  add(head, kClasses, kHidden, true, true);
  add(head_bias, 1, kClasses, false, true);
  p_ = arena.of<float>(count);
  copy_ = arena.values(count);
  fill(stream);
  if (!training) return;
  g_ = arena.of<float>(count);
  m_ = arena.of<float>(count);
  v_ = arena.of<float>(count);
  for (float* array : {g_, m_, v_}) stream.fill(array, 0, static_cast<size_t>(count) * 4);
  touched = arena.of<uint8_t>(kWords);
  stream.fill(touched, 0, kWords);
  ranges_[0].row_width = kHidden;
  ranges_[0].touched = touched;
  pieces_ = optimizer_pieces(ranges_);
  const size_t bytes = pieces_.size() * sizeof(OptimizerPiece);
  gpu_pieces_ = static_cast<OptimizerPiece*>(arena.bytes(bytes));
  stream.copy(gpu_pieces_, pieces_.data(), bytes);
  const size_t scratch = kernel_api().optimizer_workspace(static_cast<int64_t>(pieces_.size()));
  scratch_ = arena.bytes(scratch);
  stream.fill(scratch_, 0, scratch);
  state = arena.of<OptimizerState>(1);
  const OptimizerState start{2e-5, 0.9, 0.999, 1e-8, 0.01, 1.0, 1.0, 0, 0, 0, 0, 0};
  stream.copy(state, &start, sizeof start);
  stream.synchronize();
}

/// Normal values of deviation 0.02 from a block that repeats; norms are 1, biases 0.
void Parameters::fill(CudaStream& stream) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  std::vector<float> block((1 << 20) + 77);
  for (float& value : block) value = normal(engine);
  const auto size = static_cast<int64_t>(block.size());
  for (int64_t at = 0; at < count; at += size) {
    const int64_t part = std::min(size, count - at);
    stream.copy(p_ + at, block.data(), static_cast<size_t>(part) * 4);
  }
  const std::vector<float> ones(kHidden, 1.0f);
  for (const OptimizerRange& r : ranges_) {
    if (!r.decay) stream.fill(p_ + r.begin, 0, static_cast<size_t>(r.end - r.begin) * 4);
  }
  stream.copy(p_ + norm.begin, ones.data(), kHidden * 4);
  for (const LayerPlaces& l : layers) {
    stream.copy(p_ + l.norm1.begin, ones.data(), kHidden * 4);
    stream.copy(p_ + l.norm2.begin, ones.data(), kHidden * 4);
  }
  ok(kernel_api().convert(DType::f32, p_, kType, copy_, count, stream.handle()), "convert");
  stream.synchronize();
}

void Parameters::optimizer_ops(std::vector<StepOp>& ops) {
  const auto n = static_cast<double>(count);
  const double unread = 8.0 * kWords * kHidden;  // gradients of words that a batch does not have
  const OptimizerArrays arrays{p_, g_, m_, v_, copy_, kType};
  ops.push_back({.name = "norm + AdamW",
                 .bytes = n * (4 + 30) - unread,
                 .run = [=, this, pieces = static_cast<int64_t>(pieces_.size())](Stream s) {
                   ok(kernel_api().adamw(arrays, gpu_pieces_, pieces, state, scratch_, s), "adamw");
                 }});
}

}  // namespace hone::bench

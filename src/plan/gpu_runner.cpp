#include "plan/gpu_runner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"

namespace hone {
namespace {

/// Graphs are kept for so many buckets; more are run step by step.
constexpr size_t kMostGraphs = 96;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// Steps that a product's tiles can hardly tell apart, so that few buckets serve all batches: from
/// 1,024 tokens on at most 3% more than there are.
int64_t round_tokens(int64_t tokens) {
  if (tokens <= 32) return round_up(tokens, 8);
  const int64_t step = std::clamp<int64_t>(
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(tokens))) / 32, 32, 1024);
  return round_up(tokens, step);
}

int64_t round_sequences(int64_t sequences) {
  if (sequences <= 2) return sequences;
  const auto floor = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(sequences)));
  return round_up(sequences, std::max<int64_t>(2, floor / 4));
}

int64_t round_longest(int64_t longest) {
  return std::max<int64_t>(
      32,
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, longest)))));
}

}  // namespace

namespace {

bool tunes_all = false;

}  // namespace

void GpuRunner::tune_all(bool on) { tunes_all = on; }

void GpuFrame::cuda_failed(kernels::cuda::Status status) const {
  const std::string at = scope && !scope->empty() ? *scope + ": " + step : step;
  cuda_check(status, at.c_str());
  fail(ErrorKind::internal, "CUDA: {}: {}", at, status);
}

GpuRunner::GpuRunner(Execution& execution)
    : execution_(execution),
      plan_(execution.plan_),
      frame_(execution.frame_),
      stream_(cuda_stream()),
      tunes_(tunes_all) {
  frame_.gpu_.api = &kernels::cuda::kernel_api();
  frame_.gpu_.stream = stream_.handle();
  for (Block& block : blocks_) block.sent = std::make_unique<CudaEvent>();
  upload_constants();
}

void GpuRunner::upload_constants() {
  size_t bytes = 0;
  for (const Plan::Entry& entry : plan_.entries_) {
    bytes += cuda_aligned(entry.constant.size() * sizeof(float));
  }
  constants_ = CudaBuffer(bytes);
  constant_at_.assign(plan_.entries_.size(), nullptr);
  auto* at = constants_.as<std::byte>();
  for (const Plan::Entry& entry : plan_.entries_) {
    if (entry.constant.empty()) continue;
    const size_t size = entry.constant.size() * sizeof(float);
    stream_.copy(at, entry.constant.data(), size);
    constant_at_[static_cast<size_t>(entry.value.id)] = at;
    at += cuda_aligned(size);
  }
}

Extents GpuRunner::rounded(const Extents& extents) const {
  Extents up = extents;
  up[Axis::tokens] = round_tokens(extents[Axis::tokens]);
  if (plan_.pads_sequences_) {
    up[Axis::sequences] = round_sequences(extents[Axis::sequences]);
    // One row is read of each, or all of all.
    up[Axis::reads] = extents[Axis::reads] == extents[Axis::sequences]
                          ? up[Axis::sequences]
                          : round_tokens(extents[Axis::reads]);
  }
  up.longest = std::min(round_longest(extents.longest), up[Axis::tokens]);
  return up;
}

GpuRunner::Bucket GpuRunner::make_bucket(const Extents& extents) const {
  Bucket bucket;
  bucket.extents = extents;
  bucket.memory = execution_.lay_out(extents);
  bucket.workspace = execution_.workspace_for(extents);
  for (const Plan::Entry& entry : plan_.entries_) {
    bucket.inputs.push_back(bucket.input_bytes);
    if (!entry.external || entry.resident || !entry.constant.empty() || entry.first < 0) continue;
    // Offsets have one more element than there are sequences.
    bucket.input_bytes += cuda_aligned(plan_.bytes_of(entry, extents) + 8);
  }
  return bucket;
}

size_t GpuRunner::bytes_for(const Extents& extents) const {
  return make_bucket(rounded(extents)).bytes();
}

void GpuRunner::drop_graphs(Bucket& bucket) {
  if (!bucket.graphs.empty()) --counts_.graphs;
  bucket.graphs.clear();
}

void GpuRunner::place(Bucket& bucket) {
  CudaBuffer& arena = execution_.arena_->device;
  const size_t bytes = bucket.bytes();
  drop_graphs(bucket);
  if (bytes > arena.size() || bucket.input_bytes > inputs_.size()) {
    // Graphs hold addresses of the arrays that go.
    stream_.synchronize();
    for (auto& [key, other] : buckets_) {
      drop_graphs(other);
      other.arrays.clear();
    }
    if (bytes > arena.size()) {
      arena = CudaBuffer();
      arena = CudaBuffer(bytes);
    }
    if (bucket.input_bytes > inputs_.size()) {
      inputs_ = CudaBuffer();
      inputs_ = CudaBuffer(bucket.input_bytes);
      for (Block& block : blocks_) {
        block.host = PinnedBuffer(bucket.input_bytes);
        block.busy = false;
      }
    }
  }
  bucket.arena = arena.data();
  bucket.arrays.assign(plan_.entries_.size(), nullptr);
  for (const Plan::Entry& entry : plan_.entries_) {
    const auto id = static_cast<size_t>(entry.value.id);
    const auto at = static_cast<size_t>(entry.original < 0 ? entry.value.id : entry.original);
    if (entry.resident) continue;  // where it is bound
    bucket.arrays[id] =
        constant_at_[id] ? constant_at_[id]
        : entry.external ? inputs_.as<std::byte>() + bucket.inputs[id]
                         : bucket.memory.address(at, execution_.lent_data_, arena.as<std::byte>());
  }
}

void GpuRunner::resize(const Extents& extents) {
  batch_ = extents;
  const Extents up = rounded(extents);
  const std::array<int64_t, 5> key = {up.counts[0], up.counts[1], up.counts[2], up.counts[3],
                                      up.longest};
  auto found = buckets_.find(key);
  if (found == buckets_.end()) {
    found = buckets_.emplace(key, make_bucket(up)).first;
    ++counts_.buckets;
  }
  bucket_ = &found->second;
  // Who shares the arena may have made it anew, and a smaller one where there was no room.
  const CudaBuffer& arena = execution_.arena_->device;
  const size_t bytes = bucket_->bytes();
  if (bucket_->arrays.empty() || bucket_->arena != arena.data() || bytes > arena.size()) {
    place(*bucket_);
  }
  frame_.arrays_ = bucket_->arrays;
  frame_.extents_ = bucket_->extents;
  frame_.workspace_ = arena.as<std::byte>() + cuda_aligned(bucket_->memory.bytes);
  block_ = 1 - block_;
  if (blocks_[block_].busy) blocks_[block_].sent->synchronize();
  blocks_[block_].busy = false;
}

void GpuRunner::bind(Value input, const void* data) {
  const Plan::Entry& entry = plan_.entries_[static_cast<size_t>(input.id)];
  if (!entry.constant.empty() || entry.first < 0) return;
  if (entry.resident) {
    void*& at = bucket_->arrays[static_cast<size_t>(input.id)];
    if (at != data) drop_graphs(*bucket_);
    at = frame_.arrays_[static_cast<size_t>(input.id)] = const_cast<void*>(data);
    return;
  }
  const int64_t extra = entry.filler == Filler::last ? 1 : 0;  // offsets
  const size_t element = static_cast<size_t>(input.width) * dtype_size(input.dtype);
  const auto rows = static_cast<size_t>(batch_[input.rows] + extra);
  const auto all = static_cast<size_t>(bucket_->extents[input.rows] + extra);
  auto* to = blocks_[block_].host.as<std::byte>() + bucket_->inputs[static_cast<size_t>(input.id)];
  std::memcpy(to, data, rows * element);
  if (entry.filler == Filler::last) {
    for (size_t i = rows; i < all; ++i) {
      std::memcpy(to + i * element, to + (rows - 1) * element, element);
    }
  } else {
    std::memset(to + rows * element, entry.filler == Filler::minus_one ? 0xff : 0,
                (all - rows) * element);
  }
}

void GpuRunner::send_inputs() {
  Block& block = blocks_[block_];
  stream_.copy(inputs_.data(), block.host.as<std::byte>(), bucket_->input_bytes);
  block.sent->record(stream_);
  block.busy = true;
}

void GpuRunner::run_steps(size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    const Step& step = plan_.steps_[i];
    name(step);
    step.run(frame_);
  }
}

void GpuRunner::name(const Step& step) {
  frame_.gpu_.step = step.name;
  frame_.gpu_.scope = &step.scope;
}

void GpuRunner::tune_products() {
  const Stopwatch watch;
  frame_.gpu_.tuning = true;
  for (const Step& step : plan_.steps_) {
    name(step);
    if (step.product) step.run(frame_);
  }
  frame_.gpu_.tuning = false;
  counts_.capture_seconds += watch.seconds();
}

/// Step by step, by the device's clock; launches that a graph would hide show where kernels are
/// short.
void GpuRunner::run_timed() {
  const size_t count = plan_.steps_.size();
  std::vector<CudaEvent> marks(count + 1);
  marks[0].record(stream_);
  for (size_t i = 0; i < count; ++i) {
    run_steps(i, i + 1);
    marks[i + 1].record(stream_);
  }
  stream_.synchronize();
  for (size_t i = 0; i < count; ++i) {
    const double seconds = 1e-3 * static_cast<double>(marks[i + 1].since(marks[i]));
    execution_.add_time(plan_.steps_[i], seconds);
  }
}

void GpuRunner::run(const std::function<void()>& between) {
  Bucket& bucket = *bucket_;
  if (bucket.runs == 0 && tunes_) tune_products();
  send_inputs();
  if (execution_.timing_) {
    if (between) between();
    return run_timed();
  }
  std::vector<size_t> cuts = {0, cut_, plan_.steps_.size()};
  if (cut_ == 0) cuts.erase(cuts.begin());
  const bool captures =
      bucket.graphs.empty() && bucket.runs > 0 && static_cast<size_t>(counts_.graphs) < kMostGraphs;
  if (captures) {
    const Stopwatch watch;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      bucket.graphs.push_back(stream_.capture([&] { run_steps(cuts[i], cuts[i + 1]); }));
    }
    counts_.capture_seconds += watch.seconds();
    ++counts_.graphs;
  }
  ++bucket.runs;
  ++(bucket.graphs.empty() ? counts_.eager : counts_.replays);
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (i > 0 && between) between();
    if (bucket.graphs.empty()) {
      run_steps(cuts[i], cuts[i + 1]);
    } else {
      bucket.graphs[i].launch(stream_);
    }
  }
}

void* GpuRunner::address(Value value) const {
  return bucket_->arrays[static_cast<size_t>(value.id)];
}

const void* GpuRunner::read(Value value) {
  const auto rows = static_cast<size_t>(batch_[value.rows]);
  const size_t bytes = rows * static_cast<size_t>(value.width) * dtype_size(value.dtype);
  if (bytes > output_.size()) output_ = PinnedBuffer(2 * bytes);
  stream_.copy(output_.as<std::byte>(), address(value), bytes);
  stream_.synchronize();
  return output_.as<std::byte>();
}

bool GpuRunner::is_finite(Value value) {
  const auto count = static_cast<size_t>(batch_[value.rows] * value.width);
  const void* data = count > 0 ? read(value) : nullptr;
  const auto all = [&]<typename T>(const T* values, auto wide) {
    return std::all_of(values, values + count, [&](T each) { return std::isfinite(wide(each)); });
  };
  switch (value.dtype) {
    case DType::f32:
      return all(static_cast<const float*>(data), [](float x) { return x; });
    case DType::f64:
      return all(static_cast<const double*>(data), [](double x) { return x; });
    case DType::bf16:
      return all(static_cast<const bf16*>(data), [](bf16 x) { return to_float(x); });
    case DType::f16:
      return all(static_cast<const uint16_t*>(data), [](uint16_t x) { return half_to_float(x); });
    default:
      return true;
  }
}

const Step* GpuRunner::run_to_non_finite() {
  send_inputs();
  for (const Step& step : plan_.steps_) {
    name(step);
    step.run(frame_);
    for (const Value& value : step.writes) {
      if (!is_finite(value)) return &step;
    }
  }
  return nullptr;
}

}  // namespace hone

#include "plan/cuda_executor.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"

namespace hone {
namespace {

/// Graphs are kept for so many buckets; more are run step by step.
constexpr size_t kMostGraphs = 96;

bool tunes_all = false;

}  // namespace

void CudaExecutor::tune_all(bool on) { tunes_all = on; }

void GpuFrame::cuda_failed(kernels::cuda::Status status) const {
  const std::string at = scope && !scope->empty() ? *scope + ": " + step : step;
  cuda_check(status, at.c_str());
  fail(ErrorKind::internal, "CUDA: {}: {}", at, status);
}

/// Pinned memory that a copy from the device goes to.
class CudaExecutor::Pinned : public Fetched {
 public:
  PinnedBuffer memory;
  CudaEvent done;
  const std::byte* data() override {
    done.synchronize();
    return memory.as<std::byte>();
  }
};

CudaExecutor::CudaExecutor(const Plan& plan, const WeightArrays& weights, ThreadPool& pool,
                           RunnerOptions options)
    : Executor(plan, weights, pool, std::move(options)), stream_(cuda_stream()), tunes_(tunes_all) {
  frame_.gpu_.api = &kernels::cuda::kernel_api();
  frame_.gpu_.stream = stream_.handle();
  for (Block& block : blocks_) block.sent = std::make_unique<CudaEvent>();
  upload_constants();
}

void CudaExecutor::upload_constants() {
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

CudaExecutor::Bucket CudaExecutor::make_bucket(const Extents& extents) const {
  Bucket bucket;
  bucket.extents = extents;
  bucket.memory = lay_out(extents);
  bucket.workspace = workspace_for(extents);
  for (const Plan::Entry& entry : plan_.entries_) {
    bucket.inputs.push_back(bucket.input_bytes);
    if (!entry.external || entry.resident || !entry.constant.empty() || entry.first < 0) continue;
    // An array of offsets has one more element than there are sequences.
    bucket.input_bytes += cuda_aligned(plan_.bytes_of(entry, extents) + 8);
  }
  return bucket;
}

size_t CudaExecutor::bytes_for(const Extents& extents) const {
  return make_bucket(plan_.bucket(plan_.complete(extents))).bytes();
}

void CudaExecutor::drop_graphs(Bucket& bucket) {
  if (!bucket.graphs.empty()) --counts_.graphs;
  bucket.graphs.clear();
}

void CudaExecutor::place(Bucket& bucket) {
  CudaBuffer& arena = arena_->device;
  const size_t bytes = bucket.bytes();
  drop_graphs(bucket);
  if (bytes > arena.size() || bucket.input_bytes > inputs_.size()) {
    // Graphs hold addresses of the arrays that are about to be freed.
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
    bucket.arrays[id] = constant_at_[id] ? constant_at_[id]
                        : entry.external
                            ? inputs_.as<std::byte>() + bucket.inputs[id]
                            : bucket.memory.address(at, lent_data_, arena.as<std::byte>());
  }
}

void CudaExecutor::resize(const Extents& extents) {
  batch_ = plan_.complete(extents);
  const Extents up = plan_.bucket(batch_);
  auto found = buckets_.find(up);
  if (found == buckets_.end()) {
    found = buckets_.emplace(up, make_bucket(up)).first;
    ++counts_.buckets;
  }
  bucket_ = &found->second;
  // Another executor that shares the arena may have made it anew, and a smaller one where there was
  // no room.
  const CudaBuffer& arena = arena_->device;
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

void CudaExecutor::bind(Value input, const void* data) {
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
  if (rows > 0) std::memcpy(to, data, rows * element);
  if (entry.filler == Filler::last) {
    for (size_t i = rows; i < all; ++i) {
      std::memcpy(to + i * element, to + (rows - 1) * element, element);
    }
  } else {
    std::memset(to + rows * element, entry.filler == Filler::minus_one ? 0xff : 0,
                (all - rows) * element);
  }
}

void CudaExecutor::send_inputs() {
  Block& block = blocks_[block_];
  stream_.copy(inputs_.data(), block.host.as<std::byte>(), bucket_->input_bytes);
  block.sent->record(stream_);
  block.busy = true;
}

void CudaExecutor::run_steps(size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    const Step& step = plan_.steps_[i];
    name(step);
    run_step(step);
  }
}

void CudaExecutor::run_range(size_t first, size_t last) {
  if (first == 0) send_inputs();
  run_steps(first, last);
}

void CudaExecutor::name(const Step& step) {
  frame_.gpu_.step = step.name;
  frame_.gpu_.scope = &step.scope;
}

void CudaExecutor::tune_products() {
  const Stopwatch watch;
  frame_.gpu_.tuning = true;
  for (const Step& step : plan_.steps_) {
    name(step);
    if (step.product) run_step(step);
  }
  frame_.gpu_.tuning = false;
  counts_.capture_seconds += watch.seconds();
}

void CudaExecutor::run_told(const std::vector<size_t>& ends, const Between& between) {
  const size_t count = plan_.steps_.size();
  std::vector<CudaEvent> begins(count), done(count);
  size_t first = 0;
  for (size_t part = 0; part < ends.size(); ++part) {
    for (size_t i = first; i < ends[part]; ++i) {
      begins[i].record(stream_);
      run_steps(i, i + 1);
      done[i].record(stream_);
    }
    first = ends[part];
    if (between && part + 1 < ends.size()) between(part);
  }
  stream_.synchronize();
  for (size_t i = 0; i < count; ++i) {
    const double begin = 1e-3 * static_cast<double>(begins[i].since(begins[0]));
    const double seconds = 1e-3 * static_cast<double>(done[i].since(begins[i]));
    tell(plan_.steps_[i], begin, seconds);
  }
}

void CudaExecutor::run(const std::vector<size_t>& cuts, const Between& between) {
  Bucket& bucket = *bucket_;
  if (bucket.runs == 0 && tunes_) tune_products();
  send_inputs();
  std::vector<size_t> ends = cuts;
  ends.push_back(plan_.steps_.size());
  if (sink_) return run_told(ends, between);
  const bool captures = planned_ && bucket.graphs.empty() && bucket.runs > 0 &&
                        static_cast<size_t>(counts_.graphs) < kMostGraphs;
  if (captures) {
    const Stopwatch watch;
    size_t first = 0;
    for (const size_t end : ends) {
      bucket.graphs.push_back(stream_.capture([&] { run_steps(first, end); }));
      first = end;
    }
    counts_.capture_seconds += watch.seconds();
    ++counts_.graphs;
  }
  ++bucket.runs;
  ++(bucket.graphs.empty() ? counts_.eager : counts_.replays);
  size_t first = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (bucket.graphs.empty()) {
      run_steps(first, ends[i]);
    } else {
      bucket.graphs[i].launch(stream_);
    }
    first = ends[i];
    if (between && i + 1 < ends.size()) between(i);
  }
}

const void* CudaExecutor::read(Value value) {
  const auto rows = static_cast<size_t>(batch_[value.rows]);
  const size_t bytes = rows * static_cast<size_t>(value.width) * dtype_size(value.dtype);
  if (bytes > output_.size()) output_ = PinnedBuffer(2 * bytes);
  stream_.copy(output_.as<std::byte>(), address(value), bytes);
  stream_.synchronize();
  return output_.as<std::byte>();
}

std::shared_ptr<Fetched> CudaExecutor::fetch(std::span<const Value> values) {
  const auto free = std::find_if(fetched_.begin(), fetched_.end(),
                                 [](const auto& each) { return each.use_count() == 1; });
  const std::shared_ptr<Pinned> to =
      free == fetched_.end() ? fetched_.emplace_back(std::make_shared<Pinned>()) : *free;
  size_t bytes = 0;
  for (const Value& value : values) bytes += value_bytes(value, batch_);
  if (bytes > to->memory.size()) to->memory = PinnedBuffer(2 * bytes);
  std::byte* at = to->memory.as<std::byte>();
  for (const Value& value : values) {
    const size_t own = value_bytes(value, batch_);
    stream_.copy(at, address(value), own);
    at += own;
  }
  to->done.record(stream_);
  return to;
}

bool CudaExecutor::is_finite(Value value) {
  const int64_t count = batch_[value.rows] * value.width;
  return count == 0 || all_finite(value.dtype, read(value), count);
}

const Step* CudaExecutor::run_to_non_finite() {
  send_inputs();
  for (const Step& step : plan_.steps_) {
    name(step);
    run_step(step);
    for (const Value& value : step.writes) {
      if (!is_finite(value)) return &step;
    }
  }
  return nullptr;
}

}  // namespace hone

#include "infer/streamed_weights.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/page_cache.h"
#include "device/memory.h"
#include "models/packed_layout.h"

namespace hone::infer {
namespace {

// Matrices of this many bytes are brought into the page cache while one is computed with. (With 16
// MB one text waited for 13 ms of 160, on storage of 5 GB/s.)
constexpr uint64_t kAhead = 32 << 20;
// A matrix that came slower than this was not in the page cache, and the next ones are asked for.
// Those that are there come at 5 GB/s and more, and asking in vain costs a switch of threads each.
constexpr double kWarmBytesPerSecond = 1.5e9;

}  // namespace

StreamedWeights::StreamedWeights(const models::Model& model, const models::Pass& pass,
                                 std::unique_ptr<WeightSource> source, ThreadPool& pool)
    : parameters_(model.parameters()),
      source_(std::move(source)),
      pool_(pool),
      pointers_(parameters_.list().size(), nullptr),
      kept_(pointers_.size(), false) {
  for (const Step& step : pass.plan->steps()) {
    for (const TableRows& read : step.tables) add_table(read, pass);
  }
  // These are most likely the first that are wanted; they come while the rest of a session is made.
  uint64_t bytes = 0;
  for (const nn::Parameter& each : parameters_.list()) {
    if (each.kind != nn::ParameterKind::matrix) continue;
    bytes += matrix_bytes(each.weight.slot);
    if (bytes > kAhead) break;
    source_->announce(each);
  }
}

void StreamedWeights::add_table(const TableRows& read, const models::Pass& pass) {
  const int32_t slot = read.table.slot;
  if (tables_.contains(slot)) return;
  const auto input = std::find_if(pass.inputs.begin(), pass.inputs.end(),
                                  [&](Value each) { return each.id == read.indices.id; });
  if (input == pass.inputs.end()) {
    fail(ErrorKind::internal, "rows of {} that no input names", parameter(slot).tensors.front());
  }
  const nn::Parameter& own = parameter(slot);
  auto rows = std::make_unique<RowTable>(own, parameters_.bytes_of(own), *source_);
  pointers_[static_cast<size_t>(slot)] = rows->data();
  tables_[slot] = {std::move(rows), static_cast<size_t>(input - pass.inputs.begin())};
}

bool StreamedWeights::is_embedding(int32_t slot) const { return tables_.contains(slot); }

uint64_t StreamedWeights::matrix_bytes(int32_t slot) const {
  // A window begins inside a page where pages are larger than what files are aligned to.
  const uint64_t ahead = page_bytes() > models::kPackedAlign ? page_bytes() : 0;
  return round_up(parameters_.bytes_of(parameter(slot)) + ahead, page_bytes());
}

uint64_t StreamedWeights::fixed_bytes(std::span<const int32_t> order) const {
  uint64_t small = 0;
  for (const nn::Parameter& each : parameters_.list()) {
    if (each.kind == nn::ParameterKind::matrix || is_embedding(each.weight.slot)) continue;
    small += aligned(parameters_.bytes_of(each));
  }
  uint64_t largest = 0;
  for (const int32_t slot : order) largest = std::max(largest, matrix_bytes(slot));
  return small + largest + source_->scratch_bytes();
}

uint64_t StreamedWeights::huge_page_extra(std::span<const int32_t> order) const {
  uint64_t largest = 0, on_huge_pages = 0;
  for (const int32_t slot : order) {
    largest = std::max(largest, matrix_bytes(slot));
    on_huge_pages = std::max(on_huge_pages, source_->huge_page_bytes(parameter(slot)));
  }
  return std::max(on_huge_pages, largest) - largest;
}

uint64_t StreamedWeights::row_bytes(int64_t tokens) const {
  uint64_t bytes = 0;
  for (const auto& [slot, table] : tables_)
    bytes += table.rows->bytes_for(static_cast<size_t>(tokens));
  return bytes;
}

void StreamedWeights::load(std::span<const int32_t> order, uint64_t room, bool huge_pages,
                           int64_t tokens) {
  size_t bytes = 0;
  for (const nn::Parameter& each : parameters_.list()) {
    if (each.kind == nn::ParameterKind::matrix || is_embedding(each.weight.slot)) continue;
    bytes += aligned(parameters_.bytes_of(each));
  }
  small_ = Buffer(bytes);
  auto* at = small_.as<std::byte>();
  for (const nn::Parameter& each : parameters_.list()) {
    if (each.kind == nn::ParameterKind::matrix || is_embedding(each.weight.slot)) continue;
    pointers_[static_cast<size_t>(each.weight.slot)] = at;
    if (each.kind == nn::ParameterKind::vector) {
      source_->vector(each, at);
    } else {
      for (int64_t row = 0; row < each.weight.rows; ++row) source_->row(each, row, at);
    }
    at += aligned(parameters_.bytes_of(each));
  }
  tokens_ = tokens;
  huge_pages_ = huge_pages;
  order_.assign(order.begin(), order.end());
  std::vector<int32_t> wanted = order_;  // sorted by how often they are wanted, then as they come
  std::stable_sort(wanted.begin(), wanted.end(), [&](int32_t a, int32_t b) {
    return std::count(order.begin(), order.end(), a) > std::count(order.begin(), order.end(), b);
  });
  for (const int32_t slot : wanted) {
    if (kept_[static_cast<size_t>(slot)]) continue;
    if (matrix_bytes(slot) > room) break;
    room -= matrix_bytes(slot);
    kept_[static_cast<size_t>(slot)] = true;
    ++resident_;
  }
}

void StreamedWeights::begin(const data::Batch& batch) {
  position_ = 0;
  announced_ = 0;
  for (auto& [slot, table] : tables_) {
    const std::span<const int32_t> rows = batch.array<int32_t>(table.input);
    table.rows->trim(rows.size(), table.rows->bytes_for(static_cast<size_t>(tokens_)));
    table.rows->want(rows);
  }
}

void StreamedWeights::acquire(int32_t slot) {
  const auto at = static_cast<size_t>(slot);
  if (pointers_[at]) return;
  const Stopwatch watch;
  HeldMatrix& held = held_[slot] =
      source_->matrix(parameter(slot), huge_pages_ && !kept_[at], pool_);
  pointers_[at] = held.data();
  cold_ |= watch.seconds() * kWarmBytesPerSecond > static_cast<double>(matrix_bytes(slot));
  const auto place =
      std::find(order_.begin() + static_cast<ptrdiff_t>(position_), order_.end(), slot);
  if (place != order_.end()) position_ = static_cast<size_t>(place - order_.begin()) + 1;
  if (cold_) announce();
}

void StreamedWeights::announce() {
  uint64_t bytes = 0;
  for (size_t i = position_; i < order_.size(); ++i) {
    bytes += matrix_bytes(order_[i]);
    if (bytes > kAhead) break;
    if (i < announced_) continue;
    announced_ = i + 1;
    if (!pointers_[static_cast<size_t>(order_[i])]) source_->announce(parameter(order_[i]));
  }
}

void StreamedWeights::release(int32_t slot) {
  const auto at = static_cast<size_t>(slot);
  const auto held = held_.find(slot);
  if (held != held_.end() && held->second.window.lost()) {
    fail(ErrorKind::io, "{}: {}: cannot be read: the file has become shorter, or its storage fails",
         source_->path(), parameter(slot).tensors.front());
  }
  if (kept_[at]) return;
  held_.erase(slot);
  pointers_[at] = nullptr;
}

}  // namespace hone::infer

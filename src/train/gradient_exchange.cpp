#include "train/gradient_exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "comm/tree_sum.h"

namespace hone::train {
namespace {

/// Buckets are closed at this size: large enough that the start of a sum costs nothing beside it,
/// small enough that the last one, behind which nothing is computed, is short.
constexpr int64_t kBucketElements = int64_t{1} << 21;

void put_bytes(std::string& text, const void* data, size_t bytes) {
  text.append(static_cast<const char*>(data), bytes);
}

std::vector<int32_t> marked_rows(const uint8_t* marks, int64_t rows) {
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < rows; ++row) {
    if (marks[row]) ids.push_back(static_cast<int32_t>(row));
  }
  return ids;
}

}  // namespace

GradientExchange::GradientExchange(comm::Communicator& ranks, optim::Optimizer& optimizer,
                                   const nn::Parameters& parameters, const Plan& plan)
    : ranks_(ranks), optimizer_(optimizer) {
  make_buckets(parameters, plan.gradients_final_after());
  std::stable_sort(buckets_.begin(), buckets_.end(),
                   [](const Bucket& a, const Bucket& b) { return a.after < b.after; });
  for (const Bucket& bucket : buckets_) cuts_.push_back(bucket.after);
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

/// Slots lie in the order of the forward pass: the backward pass finishes them from the end.
void GradientExchange::make_buckets(const nn::Parameters& parameters,
                                    const std::vector<size_t>& final_after) {
  const GradientArrays gradients = optimizer_.gradients();
  const auto& list = parameters.list();
  for (auto parameter = list.rbegin(); parameter != list.rend(); ++parameter) {
    const auto slot = static_cast<size_t>(parameter->weight.slot);
    auto* data = static_cast<float*>(gradients.arrays[slot]);
    if (!data || slot >= final_after.size() || final_after[slot] == 0) continue;
    if (gradients.touched[slot]) {
      tables_.push_back(
          {data, gradients.touched[slot], parameter->weight.rows, parameter->weight.width});
      continue;
    }
    const int64_t count = parameters.elements(parameter->weight);
    Bucket* open = buckets_.empty() ? nullptr : &buckets_.back();
    // Arrays that lie apart by no more than padding are summed as one.
    const int64_t gap = open ? open->data - (data + count) : 0;
    constexpr int64_t kLine = kAlignment / sizeof(float);
    if (open && gap >= 0 && gap < kLine && open->count < kBucketElements) {
      open->count += count + gap;
      open->data = data;
      open->after = std::max(open->after, final_after[slot]);
    } else {
      buckets_.push_back({final_after[slot], data, count});
    }
  }
}

void GradientExchange::start(const Bucket& bucket) {
  last_ = ranks_.start_sum(bucket.data, bucket.count);
  bytes_.dense += static_cast<uint64_t>(bucket.count) * sizeof(float);
}

void GradientExchange::passed(size_t steps) {
  while (started_ < buckets_.size() && buckets_[started_].after <= steps) {
    start(buckets_[started_++]);
  }
}

void GradientExchange::finish() {
  while (started_ < buckets_.size()) start(buckets_[started_++]);
  started_ = 0;
  if (!tables_.empty()) exchange_tables();
  if (last_ > 0) ranks_.wait(last_);
}

std::vector<GradientExchange::RowIds> GradientExchange::gather_ids() {
  std::string own;
  for (const Table& table : tables_) {
    const std::vector<int32_t> ids = marked_rows(table.touched, table.rows);
    const auto count = static_cast<int32_t>(ids.size());
    put_bytes(own, &count, sizeof(count));
    put_bytes(own, ids.data(), ids.size() * sizeof(int32_t));
  }
  bytes_.rows += own.size();
  std::vector<RowIds> by_table(tables_.size());
  for (const std::string& text : ranks_.gather(own)) {
    const char* at = text.data();
    for (RowIds& ids : by_table) {
      int32_t count = 0;
      std::memcpy(&count, at, sizeof(count));
      at += sizeof(count);
      ids.emplace_back(static_cast<size_t>(count));
      if (count > 0) std::memcpy(ids.back().data(), at, ids.back().size() * sizeof(int32_t));
      at += ids.back().size() * sizeof(int32_t);
    }
  }
  return by_table;
}

bool GradientExchange::is_sparse(const Table& table, const RowIds& ids) const {
  int64_t rows = 0;
  for (const std::vector<int32_t>& of_rank : ids) rows += std::ssize(of_rank);
  const int64_t with_id = table.width + 1;
  return rows * with_id < table.rows * table.width;
}

void GradientExchange::exchange_tables() {
  const std::vector<RowIds> ids = gather_ids();
  const auto own_rank = static_cast<size_t>(ranks_.rank());
  std::string own;
  bool sparse = false;
  for (size_t i = 0; i < tables_.size(); ++i) {
    const Table& table = tables_[i];
    if (!is_sparse(table, ids[i])) {
      start({0, table.gradient, table.rows * table.width});
      std::fill_n(table.touched, table.rows, uint8_t{1});
      continue;
    }
    sparse = true;
    for (const int32_t row : ids[i][own_rank]) {
      put_bytes(own, table.gradient + row * table.width,
                static_cast<size_t>(table.width) * sizeof(float));
    }
  }
  if (!sparse) return;
  bytes_.rows += own.size();
  const std::vector<std::string> rows = ranks_.gather(own);
  std::vector<const float*> from;
  for (const std::string& text : rows) from.push_back(reinterpret_cast<const float*>(text.data()));
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (is_sparse(tables_[i], ids[i])) add_rows(tables_[i], ids[i], from);
  }
}

/// Sums as comm::Communicator does, with zeros for ranks that have no such row. `from` is where
/// each rank's rows of this table begin, and then where those of the next do.
void GradientExchange::add_rows(const Table& table, const RowIds& ids,
                                std::vector<const float*>& from) const {
  const std::vector<float> zeros(static_cast<size_t>(table.width));
  std::vector<size_t> next(ids.size());
  std::vector<const float*> rows(ids.size());
  for (;;) {
    int32_t row = INT32_MAX;
    for (size_t rank = 0; rank < ids.size(); ++rank) {
      if (next[rank] < ids[rank].size()) row = std::min(row, ids[rank][next[rank]]);
    }
    if (row == INT32_MAX) return;
    for (size_t rank = 0; rank < ids.size(); ++rank) {
      const bool has = next[rank] < ids[rank].size() && ids[rank][next[rank]] == row;
      rows[rank] = has ? from[rank] : zeros.data();
      if (!has) continue;
      from[rank] += table.width;
      ++next[rank];
    }
    for (int64_t at = 0; at < table.width; at += comm::kSumBlock) {
      comm::tree_sum(rows.data(), static_cast<int>(rows.size()), at,
                     std::min(comm::kSumBlock, table.width - at),
                     table.gradient + row * table.width + at);
    }
    table.touched[row] = 1;
  }
}

}  // namespace hone::train

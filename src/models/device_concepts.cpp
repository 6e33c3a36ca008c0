#include "models/device_concepts.h"

#include <vector>

namespace hone::models {
namespace {

/// Sends an array into a buffer of its own, and gives where it lies; null where it is empty.
template <typename T>
const T* send(const T* data, size_t count, CudaBuffer& to) {
  const size_t bytes = count * sizeof(T);
  if (to.size() != bytes) {
    to = CudaBuffer();
    to = CudaBuffer(bytes);
  }
  if (count == 0) return nullptr;
  cuda_stream().copy(to.data(), data, bytes);
  return to.as<const T>();
}

const float* send_vectors(const explain::ConceptRows& rows, int64_t stride, CudaBuffer& to) {
  const auto count = static_cast<size_t>(rows.count * stride);
  if (rows.dtype == DType::f32) return send(static_cast<const float*>(rows.data), count, to);
  std::vector<float> wide(count);
  for (int64_t i = 0; i < rows.count; ++i) {
    explain::read_row(rows, i, wide.data() + i * stride);
  }
  return send(wide.data(), count, to);
}

}  // namespace

DeviceConcepts::DeviceConcepts(const explain::Concepts* concepts)
    : table_(sizeof(kernels::cuda::ConceptTable)) {
  set(concepts);
}

void DeviceConcepts::set(const explain::Concepts* concepts) {
  cuda_stream().synchronize();  // kernels that run still read what is about to be freed
  kernels::cuda::ConceptTable table;
  if (concepts) {
    const explain::ConceptRows& rows = concepts->rows();
    const auto count = static_cast<size_t>(rows.count);
    table.count = rows.count;
    table.width = rows.width;
    table.stride = explain::row_stride(DType::f32, rows.width);
    table.vectors = send_vectors(rows, table.stride, vectors_);
    table.biases = send(rows.biases, rows.biases ? count : 0, biases_);
    table.mean = send(concepts->mean().data(), concepts->mean().size(), mean_);
    table.norms = send(concepts->norms().data(), concepts->norms().size(), norms_);
    std::vector<int64_t> begins = {0};
    std::vector<int32_t> own;
    table.rows = concepts->own() ? concepts->own()->rows() : 0;
    for (int64_t row = 0; row < table.rows; ++row) {
      const auto some = concepts->own()->of(row);
      own.insert(own.end(), some.begin(), some.end());
      begins.push_back(static_cast<int64_t>(own.size()));
    }
    table.own_begins = send(begins.data(), begins.size(), own_begins_);
    table.own = send(own.data(), own.size(), own_);
  }
  cuda_stream().copy(table_.data(), &table, sizeof table);
  cuda_stream().synchronize();
}

}  // namespace hone::models

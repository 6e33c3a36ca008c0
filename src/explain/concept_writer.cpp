#include "explain/concept_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "explain/concept_store_format.h"
#include "kernels/cpu/quantize.h"

namespace hone::explain {
namespace {

using namespace concept_format;

/// Writes sections and hashes what it writes.
class ConceptFile {
 public:
  explicit ConceptFile(const std::string& path) : out_(path) {}

  void bytes(const void* data, size_t size) {
    hash_.bytes(data, size);
    out_.write(data, size);
    at_ += size;
  }
  template <typename T>
  void values(std::span<const T> values) {
    bytes(values.data(), values.size_bytes());
  }
  /// Fills up with zeros to where a section begins.
  void pad_to(uint64_t place) {
    const std::string zeros(static_cast<size_t>(place - at_), '\0');
    bytes(zeros.data(), zeros.size());
  }
  void commit() {
    const data::Hash128 hash = hash_.value();
    out_.write(&hash, sizeof hash);
    out_.commit();
  }

 private:
  OutputFile out_;
  data::ContentHash hash_;
  uint64_t at_ = 0;
};

Header header_of(const ConceptSet& concepts, const ConceptStoreRecipe& recipe) {
  Header header;
  header.dtype = number_of(recipe.dtype);
  header.model = recipe.model;
  header.width = static_cast<uint32_t>(concepts.width());
  header.labels = static_cast<uint32_t>(concepts.labels());
  header.concepts = static_cast<uint64_t>(concepts.size());
  for (int64_t i = 0; i < concepts.size(); ++i) {
    header.rows += concepts.source_rows(i).size();
    header.text_bytes += concepts.text(i).size();
  }
  if (!recipe.vectors.mean.empty()) header.flags |= kCentred;
  if (!recipe.vectors.biases.empty()) header.flags |= kBiased;
  return header;
}

/// Writes the vectors in the recipe's dtype; returns the scales of int8.
std::vector<float> write_vectors(const ConceptStoreRecipe& recipe, ConceptFile& out) {
  const SearchVectors& vectors = recipe.vectors;
  const float* row = vectors.data.as<float>();
  const int64_t stride = row_stride(DType::f32, vectors.width);
  const auto width = static_cast<size_t>(vectors.width);
  const auto out_stride = static_cast<size_t>(row_stride(recipe.dtype, vectors.width));
  std::vector<float> scales;
  std::vector<bf16> halves(recipe.dtype == DType::bf16 ? out_stride : 0);
  std::vector<int8_t> quantized(recipe.dtype == DType::u8 ? out_stride : 0);
  for (int64_t i = 0; i < vectors.count; ++i, row += stride) {
    if (recipe.dtype == DType::f32) {
      out.bytes(row, out_stride * sizeof(float));
    } else if (recipe.dtype == DType::bf16) {
      std::transform(row, row + width, halves.begin(), to_bf16);
      out.values(std::span<const bf16>(halves));
    } else {
      scales.push_back(kernels::quantize_symmetric(row, vectors.width, quantized.data()));
      std::string biased(out_stride, static_cast<char>(128));
      for (size_t j = 0; j < width; ++j) biased[j] = static_cast<char>(quantized[j] + 128);
      out.bytes(biased.data(), biased.size());
    }
  }
  return scales;
}

template <typename SizeOf>
void write_begins(int64_t count, SizeOf size_of, ConceptFile& out) {
  uint64_t begin = 0;
  std::vector<uint64_t> begins = {0};
  for (int64_t i = 0; i < count; ++i) begins.push_back(begin += size_of(i));
  out.values(std::span<const uint64_t>(begins));
}

}  // namespace

DType parse_store_dtype(const std::string& name) {
  if (name == "fp32") return DType::f32;
  if (name == "bf16") return DType::bf16;
  if (name == "int8") return DType::u8;
  fail(ErrorKind::usage, "explain.store_dtype: expected fp32, bf16 or int8, got {}", quote(name));
}

void write_concept_store(const std::string& path, const ConceptSet& concepts,
                         const ConceptStoreRecipe& recipe) {
  const int64_t count = concepts.size();
  if (count == 0) fail(ErrorKind::bad_file, "{}: concepts: there are none to store", path);
  const Header header = header_of(concepts, recipe);
  const auto at = layout(header, std::numeric_limits<int64_t>::max());
  if (!at)
    fail(ErrorKind::unsupported, "{}: more concepts, labels or values than a store has", path);
  ConceptFile out(path);
  out.bytes(&header, sizeof header);
  out.pad_to(at->vectors);
  const std::vector<float> scales = write_vectors(recipe, out);
  out.pad_to(at->scales);
  out.values(std::span<const float>(scales));
  out.pad_to(at->biases);
  out.values(std::span<const float>(recipe.vectors.biases));
  out.pad_to(at->mean);
  out.values(std::span<const float>(recipe.vectors.mean));
  out.pad_to(at->norms);
  out.values(std::span<const float>(recipe.vectors.norms));
  out.pad_to(at->counts);
  for (int64_t i = 0; i < count; ++i) out.values(concepts.label_counts(i));
  out.pad_to(at->row_begins);
  write_begins(
      count, [&](int64_t i) { return concepts.source_rows(i).size(); }, out);
  out.pad_to(at->source_rows);
  for (int64_t i = 0; i < count; ++i) out.values(concepts.source_rows(i));
  out.pad_to(at->text_begins);
  write_begins(
      count, [&](int64_t i) { return concepts.text(i).size(); }, out);
  out.pad_to(at->texts);
  for (int64_t i = 0; i < count; ++i) out.bytes(concepts.text(i).data(), concepts.text(i).size());
  out.pad_to(at->hash);
  out.commit();
}

}  // namespace hone::explain

#include "explain/concept_store_format.h"

#include "device/memory.h"
#include "explain/concept_rows.h"

namespace hone::explain::concept_format {
namespace {

/// Hands out places one behind the other, up to a limit.
class Places {
 public:
  explicit Places(uint64_t limit) : limit_(limit) {}

  uint64_t take(uint64_t count, uint64_t bytes_each) {
    const uint64_t begin = aligned(at_);
    if (!fits_ || begin > limit_ || (bytes_each > 0 && count > (limit_ - begin) / bytes_each)) {
      fits_ = false;
      return 0;
    }
    at_ = begin + count * bytes_each;
    return begin;
  }
  bool fits() const { return fits_; }

 private:
  uint64_t limit_;
  uint64_t at_ = sizeof(Header);
  bool fits_ = true;
};

}  // namespace

std::optional<DType> dtype_of(uint32_t number) {
  switch (number) {
    case kF32:
      return DType::f32;
    case kBf16:
      return DType::bf16;
    case kInt8:
      return DType::u8;
    default:
      return std::nullopt;
  }
}

uint32_t number_of(DType dtype) {
  return dtype == DType::f32 ? kF32 : dtype == DType::bf16 ? kBf16 : kInt8;
}

std::optional<Sections> layout(const Header& header, uint64_t limit) {
  const std::optional<DType> dtype = dtype_of(header.dtype);
  if (!dtype || header.width > kMostWidth || header.concepts > kMostConcepts ||
      header.labels > kMostLabels) {
    return std::nullopt;
  }
  const auto row_bytes =
      static_cast<uint64_t>(row_stride(*dtype, header.width)) * dtype_size(*dtype);
  const bool centred = header.flags & kCentred;
  Places places(limit);
  Sections at;
  at.vectors = places.take(header.concepts, row_bytes);
  at.scales = places.take(*dtype == DType::u8 ? header.concepts : 0, sizeof(float));
  at.biases = places.take(header.flags & kBiased ? header.concepts : 0, sizeof(float));
  at.mean = places.take(centred ? header.width : 0, sizeof(float));
  at.norms = places.take(centred ? header.concepts : 0, sizeof(float));
  at.counts = places.take(header.concepts, sizeof(uint32_t) * header.labels);
  at.row_begins = places.take(header.concepts + 1, sizeof(uint64_t));
  at.source_rows = places.take(header.rows, sizeof(uint32_t));
  at.text_begins = places.take(header.concepts + 1, sizeof(uint64_t));
  at.texts = places.take(header.text_bytes, 1);
  at.hash = places.take(1, sizeof(data::Hash128));
  if (!places.fits()) return std::nullopt;
  return at;
}

}  // namespace hone::explain::concept_format

// layers: data
#include "fuzz/records_target.h"
#include "fuzz/refusal.h"

namespace {

constexpr size_t kMost = size_t{1} << 20;

struct Outcome {
  std::string bytes;  ///< the first kMost of them
  bool accepted = false;
};

Outcome decompress(std::unique_ptr<hone::data::ByteSource> compressed, size_t capacity) {
  Outcome outcome;
  outcome.accepted = hone::accepts("input.xz: ", [&] {
    const auto source = hone::data::decompress_xz(std::move(compressed), "input.xz");
    std::string piece(capacity, '\0');
    while (outcome.bytes.size() < kMost) {
      const size_t got = source->read(piece.data(), piece.size());
      if (got > piece.size()) std::abort();
      if (got == 0) return;
      outcome.bytes.append(piece, 0, got);
    }
    outcome.bytes.resize(kMost);
  });
  return outcome;
}

}  // namespace

/// Bytes that come in dribs give what they give in one piece. How many come out before a damage is
/// the library's affair.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::data;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome a = decompress(bytes_of_memory(bytes), 1 << 16);
  const Outcome b = decompress(std::make_unique<DribblingSource>(bytes), 1 + size % 4096);
  const size_t common = std::min(a.bytes.size(), b.bytes.size());
  if (a.bytes.compare(0, common, b.bytes, 0, common) != 0) std::abort();
  if (a.accepted && b.accepted && a.bytes != b.bytes) std::abort();
  if (a.accepted != b.accepted && std::max(a.bytes.size(), b.bytes.size()) < kMost) std::abort();
  return 0;
}

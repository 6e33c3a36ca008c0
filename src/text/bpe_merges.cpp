#include "text/bpe_merges.h"

#include <bit>

#include "base/error.h"

namespace hone::text {
namespace {

// Pairs made to collide would make loading quadratic.
constexpr size_t max_probes = 4096;

int32_t id_in(const VocabTable& vocab, const std::string& token, size_t rank,
              const std::string& file) {
  const int32_t id = vocab.id_of(token);
  if (id < 0) {
    fail(ErrorKind::bad_file, "{}: merges[{}]: token is not in the vocabulary, got {}", file, rank,
         quote(token));
  }
  return id;
}

}  // namespace

BpeMerges::BpeMerges(const std::vector<std::pair<std::string, std::string>>& merges,
                     const VocabTable& vocab, const std::string& continuing_subword_prefix,
                     const std::string& file) {
  if (merges.size() >= UINT32_MAX / 4) {
    fail(ErrorKind::bad_file, "{}: merges: too many, got {}", file, merges.size());
  }
  slots_.assign(std::bit_ceil(merges.size() * 2 + 2), Slot{});
  mask_ = slots_.size() - 1;
  shift_ = 64 - std::countr_zero(slots_.size());
  const size_t skip = continuing_subword_prefix.size();
  std::string merged;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const int32_t left_id = id_in(vocab, left, rank, file);
    const int32_t right_id = id_in(vocab, right, rank, file);
    if (right.size() < skip) {
      fail(ErrorKind::bad_file,
           "{}: merges[{}]: right side is shorter than continuing_subword_prefix, got {}", file,
           rank, quote(right));
    }
    merged.assign(left).append(right, skip);
    const int32_t id = id_in(vocab, merged, rank, file);
    always_grow_ = always_grow_ && right.size() > skip && vocab.token_of(left_id) == left &&
                   vocab.token_of(right_id) == right && vocab.token_of(id) == merged;
    insert(key_of(left_id, right_id), {static_cast<uint32_t>(rank), id}, file);
  }
}

void BpeMerges::insert(uint64_t key, Merge merge, const std::string& file) {
  size_t at = hash(key);
  for (size_t probes = 0; slots_[at].key != key && slots_[at].merge.rank != no_merge; ++probes) {
    if (probes == max_probes) {
      fail(ErrorKind::bad_file, "{}: merges[{}]: too many pairs of ids that hash alike", file,
           merge.rank);
    }
    at = (at + 1) & mask_;
  }
  // The later rank of a pair that comes twice holds, as in `tokenizers`.
  slots_[at] = {key, merge};
}

}  // namespace hone::text

#include "prep/merge.h"

#include <algorithm>
#include <cmath>

namespace hone::prep {
namespace {

constexpr size_t kFewestSlots = 1 << 12;

}  // namespace

void Merger::clear() {
  entries_.clear();
  codes_.clear();
  votes_.clear();
  slots_.assign(kFewestSlots, 0);
}

void Merger::grow() {
  slots_.assign(std::max(kFewestSlots, slots_.size() * 2), 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = entries_[i].hash[1] & (slots_.size() - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

void Merger::vote(Entry& entry, float label) {
  if (label == entry.label || std::isnan(label)) {
    ++entry.copies;
    if (const auto found = votes_.find(entry.number); found != votes_.end()) ++found->second[label];
    return;
  }
  Votes& votes = votes_[entry.number];
  if (votes.empty()) votes[entry.label] = entry.copies;
  ++votes[label];
}

void Merger::add(const TextHead& head, std::span<const uint16_t> codes) {
  if (entries_.size() * 2 >= slots_.size()) grow();
  size_t at = head.hash[1] & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    Entry& entry = entries_[slots_[at] - 1];
    if (entry.hash == head.hash && std::ranges::equal(this->codes(entry), codes)) {
      return vote(entry, head.label);
    }
  }
  const auto number = static_cast<uint32_t>(entries_.size());
  slots_[at] = number + 1;
  entries_.push_back(
      {head.hash, codes_.size(), static_cast<uint32_t>(codes.size()), number, head.label, 1});
  codes_.insert(codes_.end(), codes.begin(), codes.end());
}

void Merger::sort() {
  const auto text_of = [&](const Entry& entry) {
    std::string text;
    append_words(dictionary_, codes(entry), text);
    return text;
  };
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.number != b.number && text_of(a) < text_of(b);
  });
  slots_.clear();
}

TextHead Merger::head(size_t i) const {
  const Entry& entry = entries_[i];
  TextHead head{entry.hash, entry.label, entry.units};
  if (const auto found = votes_.find(entry.number); found != votes_.end()) {
    int64_t most = 0;
    for (const auto& [label, count] : found->second) {  // lower labels come first
      if (count > most) head.label = label;
      most = std::max(most, count);
    }
  }
  return head;
}

}  // namespace hone::prep

#include "text/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "text/piece_cache.h"

namespace hone::text {
namespace {

constexpr double unk_penalty = 10.0;
constexpr uint32_t no_start = UINT32_MAX;

/// Bytes of the character that starts with `lead`; the text is valid UTF-8.
size_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

struct Unigram::Memory : Model::Scratch {
  /// The best way to reach a position.
  struct Arrival {
    double score;
    uint32_t start;
    int32_t id;
  };
  std::vector<Arrival> arrivals;
  PieceCache cache;
};

Unigram::Unigram(const std::vector<std::pair<std::string, double>>& pieces,
                 std::optional<int32_t> unk_id, bool byte_fallback, const std::string& file)
    : unk_id_(unk_id.value_or(-1)), byte_fallback_(byte_fallback), file_(file) {
  if (unk_id && (*unk_id < 0 || static_cast<size_t>(*unk_id) >= pieces.size())) {
    fail(ErrorKind::bad_file, "{}: unk_id: must be below the {} pieces, got {}", file,
         pieces.size(), *unk_id);
  }
  size_t bytes = 0;
  for (const auto& [text, score] : pieces) bytes += text.size();
  if (bytes > INT32_MAX || pieces.size() > INT32_MAX) {
    fail(ErrorKind::bad_file, "{}: vocab: too large, got {} pieces of {} bytes", file,
         pieces.size(), bytes);
  }
  bytes_.reserve(bytes);
  ends_.reserve(pieces.size());
  scores_.reserve(pieces.size());
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& [text, score] : pieces) {
    if (std::isnan(score)) {
      fail(ErrorKind::bad_file, "{}: vocab: the score of {} is not a number", file, quote(text));
    }
    bytes_ += text;
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    scores_.push_back(score);
    lowest = std::min(lowest, score);
  }
  unk_score_ = lowest - unk_penalty;
  std::vector<std::string_view> texts;
  texts.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) texts.push_back(token_of(static_cast<int32_t>(i)));
  trie_ = UnigramTrie(texts);
  for (unsigned byte = 0; byte < 256; ++byte) {
    fallback_ids_[byte] = trie_.find(fmt::format("<0x{:02X}>", byte));
  }
}

std::unique_ptr<Model::Scratch> Unigram::make_scratch() const { return std::make_unique<Memory>(); }

std::string_view Unigram::token_of(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  if (id < 0 || index >= ends_.size()) return {};
  const uint32_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(bytes_).substr(begin, ends_[index] - begin);
}

void Unigram::tokenize(std::string_view pretoken, Scratch& scratch, std::vector<Piece>& out) const {
  if (pretoken.empty()) return;
  auto& memory = static_cast<Memory&>(scratch);
  memory.cache.recall(pretoken, false, out, [&] {
    find_best_path(pretoken, memory);
    emit(pretoken, memory, out);
  });
}

void Unigram::find_best_path(std::string_view text, Memory& memory) const {
  memory.arrivals.assign(text.size() + 1, {0, no_start, 0});
  Memory::Arrival* arrivals = memory.arrivals.data();
  const auto arrive = [&](size_t start, size_t end, double score, int32_t id) {
    Memory::Arrival& arrival = arrivals[end];
    const double total = score + arrivals[start].score;
    if (arrival.start != no_start && total <= arrival.score) return false;
    arrival = {total, static_cast<uint32_t>(start), id};
    return true;
  };
  for (size_t start = 0; start < text.size();) {
    const size_t character_end = std::min(start + character_size(text[start]), text.size());
    bool known_alone = false;
    uint32_t node = UnigramTrie::root;
    for (size_t at = start; at < text.size();) {
      node = trie_.child(node, static_cast<uint8_t>(text[at++]));
      if (node == UnigramTrie::none) break;
      const int32_t id = trie_.value(node);
      if (id < 0) continue;
      arrive(start, at, scores_[static_cast<size_t>(id)], id);
      known_alone |= at == character_end;
    }
    if (!known_alone && arrive(start, character_end, unk_score_, unk_id_) && unk_id_ < 0) {
      fail(ErrorKind::bad_file, "{}: unk_id: none, but a character has no piece, got {}", file_,
           quote(text.substr(start, character_end - start)));
    }
    start = character_end;
  }
}

/// Follows the best path back; what was found is in reverse order until the end.
void Unigram::emit(std::string_view text, Memory& memory, std::vector<Piece>& out) const {
  const auto first = static_cast<ptrdiff_t>(out.size());
  uint32_t unknown_end = 0;  // end of the run of unknowns that is still open; 0 where none is
  auto end = static_cast<uint32_t>(text.size());
  while (end > 0) {
    const Memory::Arrival& arrival = memory.arrivals[end];
    if (arrival.id == unk_id_) {
      if (unknown_end == 0) unknown_end = end;
      const bool fused = arrival.start > 0 && memory.arrivals[arrival.start].id == unk_id_;
      if (!fused) {
        emit_unknown(text, {unk_id_, arrival.start, unknown_end}, out);
        unknown_end = 0;
      }
    } else {
      out.push_back({arrival.id, arrival.start, end});
    }
    end = arrival.start;
  }
  std::reverse(out.begin() + first, out.end());
}

/// Emits a run of unknowns: a piece of the same text if there is one, or its bytes, or unk_id.
void Unigram::emit_unknown(std::string_view text, Piece piece, std::vector<Piece>& out) const {
  const std::string_view run = text.substr(piece.begin, piece.end - piece.begin);
  const int32_t known = trie_.find(run);
  const auto fallback = [&](char c) { return fallback_ids_[static_cast<unsigned char>(c)]; };
  if (known >= 0) {
    piece.id = known;
  } else if (byte_fallback_ &&
             std::all_of(run.begin(), run.end(), [&](char c) { return fallback(c) >= 0; })) {
    for (auto c = run.rbegin(); c != run.rend(); ++c) {
      out.push_back({fallback(*c), piece.begin, piece.end});
    }
    return;
  }
  out.push_back(piece);
}

}  // namespace hone::text

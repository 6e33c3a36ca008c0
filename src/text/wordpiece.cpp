#include "text/wordpiece.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace hone::text {

WordPiece::WordPiece(const std::vector<std::pair<std::string, int32_t>>& vocab,
                     WordPieceOptions options, const std::string& file)
    : vocab_(vocab, file),
      options_(std::move(options)),
      file_(file),
      unk_id_(vocab_.id_of(options_.unk_token)),
      prefix_hash_(VocabTable::kEmptyHash) {
  for (const char c : options_.continuing_subword_prefix) {
    prefix_hash_ = VocabTable::extend(prefix_hash_, c);
  }
}

std::unique_ptr<Model::Scratch> WordPiece::make_scratch() const {
  return std::make_unique<Scratch>();
}

void WordPiece::add_unknown(std::string_view word, std::vector<Piece>& out) const {
  if (unk_id_ < 0) {
    fail(ErrorKind::bad_file,
         "{}: model.unk_token: {} is not in the vocabulary, but is needed for {}", file_,
         quote(options_.unk_token), quote(word));
  }
  out.push_back({unk_id_, 0, static_cast<uint32_t>(word.size())});
}

void WordPiece::tokenize(std::string_view pretoken, Scratch&, std::vector<Piece>& out) const {
  if (pretoken.empty()) return;
  const size_t first = out.size();
  if (count_code_points(pretoken) > options_.max_input_chars_per_word || !cut(pretoken, out)) {
    out.resize(first);
    add_unknown(pretoken, out);
  }
}

/// Gives false where some part has no match.
bool WordPiece::cut(std::string_view word, std::vector<Piece>& out) const {
  for (size_t begin = 0; begin < word.size();) {
    const std::string_view prefix =
        begin == 0 ? std::string_view() : options_.continuing_subword_prefix;
    if (prefix.size() >= vocab_.longest()) return false;
    uint64_t hash = begin == 0 ? VocabTable::kEmptyHash : prefix_hash_;
    const std::string_view rest = word.substr(begin, vocab_.longest() - prefix.size());
    int32_t id = -1;
    size_t size = 0;
    for (size_t i = 0; i < rest.size(); ++i) {
      hash = VocabTable::extend(hash, rest[i]);
      const size_t next = begin + i + 1;
      const bool whole_char =
          next == word.size() || (static_cast<unsigned char>(word[next]) & 0xC0) != 0x80;
      if (!whole_char) continue;
      const int32_t found = vocab_.find(hash, prefix, rest.substr(0, i + 1));
      if (found >= 0) {
        id = found;
        size = i + 1;
      }
    }
    if (id < 0) return false;
    out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + size)});
    begin += size;
  }
  return true;
}

}  // namespace hone::text

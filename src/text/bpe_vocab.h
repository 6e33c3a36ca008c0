#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::text {

/// Token to id and back: the tokens' bytes lie in one string, the look-up is one open-addressed
/// table of ids.
class BpeVocab {
 public:
  BpeVocab(const std::vector<std::pair<std::string, int32_t>>& vocab, const std::string& file);

  int32_t id_of(std::string_view token) const;
  std::string_view token_of(int32_t id) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    int32_t id;
    uint32_t begin;
    uint32_t end;
  };
  std::string_view text(const Entry& e) const {
    return std::string_view(bytes_).substr(e.begin, e.end - e.begin);
  }

  std::string bytes_;
  std::vector<Entry> entries_;   ///< sorted by id
  std::vector<uint32_t> slots_;  ///< index into entries_ plus 1, 0 where empty
};

}  // namespace hone::text

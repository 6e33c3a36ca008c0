#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/aligned_text.h"

namespace hone::text {

/// A stretch of text and whether a pattern matched it.
struct Stretch {
  uint32_t begin;
  uint32_t end;
  bool match;
};

/// Finds what Replace and Split look for: a plain string, or an expression of Oniguruma's (the
/// library that `tokenizers` uses, so that classes and corner cases agree).
class Pattern {
 public:
  static Pattern string(std::string needle);
  /// `file` and `field` name the source in errors.
  static Pattern regex(const std::string& expression, const std::string& file,
                       const std::string& field);

  /// Replaces `out` with the stretches that cover `text`, in order.
  void find(std::string_view text, std::vector<Stretch>& out) const;

  /// File and field of an expression, for errors.
  const std::string& name() const { return name_; }

 private:
  struct Expression;

  void find_string(std::string_view text, std::vector<Stretch>& out) const;
  void find_regex(std::string_view text, std::vector<Stretch>& out) const;

  std::string needle_;
  std::string name_;
  std::shared_ptr<const Expression> expression_;
};

}  // namespace hone::text

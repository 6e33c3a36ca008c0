#include "text/post_processor.h"

namespace hone::text {
namespace {

void add_text(const TokenList& list, int32_t type_id, Encoding& out) {
  const size_t before = out.ids.size();
  out.ids.insert(out.ids.end(), list.ids.begin(), list.ids.end());
  out.offsets.insert(out.offsets.end(), list.offsets.begin(), list.offsets.end());
  out.type_ids.resize(out.ids.size(), type_id);
  out.special.resize(out.ids.size(), 0);
  for (const auto& [place, token] : list.odd) {
    out.odd.emplace_back(place + static_cast<uint32_t>(before), token);
  }
}

void add_special(const PostProcessor::Special& special, int32_t type_id, Encoding& out) {
  if (!special.token.empty()) {
    out.odd.emplace_back(static_cast<uint32_t>(out.ids.size()), special.token);
  }
  out.ids.push_back(special.id);
  out.offsets.push_back({0, 0});
  out.type_ids.push_back(type_id);
  out.special.push_back(1);
}

}  // namespace

size_t PostProcessor::added(bool is_pair) const {
  size_t count = 0;
  for (const Part& part : is_pair ? pair : single) count += part.specials.size();
  return count;
}

void PostProcessor::process(const TokenList& first, const TokenList* second,
                            bool add_special_tokens, Encoding& out) const {
  out.ids.clear();
  out.type_ids.clear();
  out.offsets.clear();
  out.special.clear();
  out.odd.clear();
  for (const Part& part : second ? pair : single) {
    switch (part.kind) {
      case Part::Kind::first:
        add_text(first, part.type_id, out);
        break;
      case Part::Kind::second:
        add_text(*second, part.type_id, out);
        break;
      case Part::Kind::special:
        if (!add_special_tokens) break;
        for (const Special& special : part.specials) add_special(special, part.type_id, out);
        break;
    }
  }
}

}  // namespace hone::text

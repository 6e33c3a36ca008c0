#include "comm/agree.h"

#include "base/error.h"
#include "base/json.h"

namespace hone::comm {
namespace {

std::string packed(const Fields& fields) {
  Json all = Json::array();
  for (const auto& [name, value] : fields) all.push_back({name, value});
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string value_in(const Json& fields, size_t i) {
  return i < fields.size() ? quote(fields[i][1].get<std::string>(), 200) : "nothing";
}

}  // namespace

void agree(Communicator& ranks, const Fields& fields) {
  const std::vector<std::string> all = ranks.gather(packed(fields));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const Json first = parse_json(all[0], "rank 0");
    const Json other = parse_json(all[rank], "another rank");
    size_t i = 0;
    while (i < first.size() && i < other.size() && first[i] == other[i]) ++i;
    const Json& named = i < first.size() ? first : other;
    ranks.fail_run(fmt::format("{}: ranks differ: {} on rank 0 ({}), {} on rank {} ({})",
                               named[i][0].get<std::string>(), value_in(first, i), ranks.hosts()[0],
                               value_in(other, i), rank, ranks.hosts()[rank]));
  }
}

}  // namespace hone::comm

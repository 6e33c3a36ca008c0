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

/// Gives null where there is no such field.
Json value_of(const std::string& name, const Json& fields) {
  for (const Json& field : fields) {
    if (field[0] == name) return field[1];
  }
  return nullptr;
}

std::string text_of(const Json& value) {
  return value.is_null() ? "nothing" : quote(value.get<std::string>(), 200);
}

/// Gives the name of the first field that is not in both with one value.
std::string first_difference(const Json& fields, const Json& others) {
  for (const Json* each : {&fields, &others}) {
    for (const Json& field : *each) {
      std::string name = field[0];
      if (value_of(name, fields) != value_of(name, others)) return name;
    }
  }
  return "order of fields";
}

}  // namespace

void agree(Communicator& ranks, const Fields& fields) {
  const std::vector<std::string> all = ranks.gather(packed(fields));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const Json first = parse_json(all[0], "rank 0");
    const Json other = parse_json(all[rank], "another rank");
    const std::string name = first_difference(first, other);
    ranks.fail_run(fmt::format("{}: ranks differ: {} on rank 0 ({}), {} on rank {} ({})", name,
                               text_of(value_of(name, first)), ranks.hosts()[0],
                               text_of(value_of(name, other)), rank, ranks.hosts()[rank]));
  }
}

}  // namespace hone::comm

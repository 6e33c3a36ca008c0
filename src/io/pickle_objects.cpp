#include "base/error.h"
#include "io/pickle.h"
#include "io/pickle_globals.h"

namespace hone::io {
namespace {

constexpr uint32_t kLongestKey = 256;  // bytes; the key is a number, or an address in legacy files

}  // namespace

bool PickleReader::build_object(uint8_t opcode) {
  switch (opcode) {
    case 'c': {  // GLOBAL
      const PickleValue module = take_line();
      const PickleValue name = take_line();
      push_global(text(module), text(name));
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleValue name = pop();
      const PickleValue module = pop();
      if (!name.is(Kind::text) || !module.is(Kind::text)) refuse("a global's name is not text");
      push_global(text(module), text(name));
      return true;
    }
    case 'Q':  // BINPERSID
      push_storage();
      return true;
    case 'R':
      reduce();
      return true;
    case 'b':  // BUILD: attributes of an OrderedDict (a state dict's _metadata), not needed
      if (!pop().is(Kind::dict)) refuse("an object's state is not a dict");
      top_items(Kind::dict);
      return true;
    default:
      return false;
  }
}

void PickleReader::push_global(std::string_view module, std::string_view name) {
  const std::string full = fmt::format("{}.{}", module, name);
  const int index = find_pickle_global(full);
  if (index < 0) {
    fail(ErrorKind::unsupported,
         "{}: the pickle asks for {}; only tensors are read, and no code is run", file_.path(),
         quote(full));
  }
  push({Kind::global, 0, index});
}

void PickleReader::push_storage() {
  const PickleValue id = pop();
  static const std::vector<PickleValue> kNothing;
  const std::vector<PickleValue>& parts = id.is(Kind::tuple) ? items(id) : kNothing;
  const bool shaped = parts.size() >= 5 && parts.size() <= 6 && parts[0].is(Kind::text) &&
                      text(parts[0]) == "storage" && parts[1].is(Kind::global) &&
                      parts[2].is(Kind::text) && parts[2].size <= kLongestKey &&
                      parts[4].is(Kind::integer);
  const PickleGlobal* type = shaped ? &pickle_global(static_cast<int>(parts[1].number)) : nullptr;
  if (!type || type->role != PickleGlobal::Role::storage) refuse("a storage is malformed");
  if (parts.size() == 6 && !parts[5].is(Kind::none)) {
    fail(ErrorKind::unsupported, "{}: storage {} is a view of another storage", file_.path(),
         quote(text(parts[2])));
  }
  storages_.push_back({type->dtype, parts[2], parts[4].number});
  push({Kind::storage, 0, static_cast<int64_t>(storages_.size()) - 1});
}

void PickleReader::reduce() {
  const PickleValue arguments = pop();
  const PickleValue callee = pop();
  if (!callee.is(Kind::global) || !arguments.is(Kind::tuple)) refuse("a call is malformed");
  const PickleGlobal& global = pickle_global(static_cast<int>(callee.number));
  switch (global.role) {
    case PickleGlobal::Role::ordered_dict:
      return reduce_ordered_dict(items(arguments));
    case PickleGlobal::Role::rebuild_tensor:
      return reduce_tensor(items(arguments));
    case PickleGlobal::Role::rebuild_parameter: {
      const std::vector<PickleValue>& parts = items(arguments);
      if (parts.empty() || !parts[0].is(Kind::tensor)) refuse("a parameter is malformed");
      push(parts[0]);
      return;
    }
    case PickleGlobal::Role::storage:
      refuse("a storage type is called");
  }
}

/// Takes no argument, or one list of [key, value] lists from Python 2.
void PickleReader::reduce_ordered_dict(const std::vector<PickleValue>& arguments) {
  std::vector<PickleValue> entries;
  if (!arguments.empty()) {
    if (arguments.size() != 1 || !arguments[0].is(Kind::list))
      refuse("an OrderedDict is malformed");
    // The list may be used again and again: each copy counts.
    count_steps(items(arguments[0]).size());
    for (const PickleValue& item : items(arguments[0])) {
      const bool pair = (item.is(Kind::list) || item.is(Kind::tuple)) && items(item).size() == 2;
      if (!pair) refuse("an OrderedDict is malformed");
      entries.insert(entries.end(), items(item).begin(), items(item).end());
    }
  }
  push(make(Kind::dict, std::move(entries)));
}

void PickleReader::reduce_tensor(const std::vector<PickleValue>& arguments) {
  if (arguments.size() < 4 || !arguments[0].is(Kind::storage) || !arguments[1].is(Kind::integer) ||
      !arguments[2].is(Kind::tuple) || !arguments[3].is(Kind::tuple)) {
    refuse("a tensor is malformed");
  }
  tensors_.push_back({arguments[0].number, arguments[1].number, arguments[2], arguments[3]});
  push({Kind::tensor, 0, static_cast<int64_t>(tensors_.size()) - 1});
}

}  // namespace hone::io

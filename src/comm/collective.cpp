#include "comm/collective.h"

#include <fmt/format.h>

namespace hone::comm {
namespace {

const char* verb(Kind kind) {
  switch (kind) {
    case Kind::barrier:
      return "barrier";
    case Kind::sum_floats:
    case Kind::sum_doubles:
      return "sum";
    case Kind::gather:
      return "gather";
    case Kind::broadcast:
      return "broadcast";
    case Kind::window:
      return "window";
    case Kind::none:
      break;
  }
  return "nothing";
}

std::string amount(int64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", 1e-3 * static_cast<double>(bytes));
  return fmt::format("{:.1f} MB", 1e-6 * static_cast<double>(bytes));
}

}  // namespace

bool match(const Collective& a, const Collective& b) {
  return a.number == b.number && a.step == b.step && a.kind == b.kind && a.root == b.root &&
         a.place == b.place && (a.bytes == b.bytes || a.kind == Kind::gather);
}

std::string describe(const Collective& collective) {
  if (collective.kind == Kind::none) return "no collective yet";
  std::string text = verb(collective.kind);
  if (collective.kind != Kind::barrier) text += " of " + amount(collective.bytes);
  if (collective.kind == Kind::broadcast) text += fmt::format(" from rank {}", collective.root);
  return text + fmt::format(" (collective {}, step {})", collective.number, collective.step);
}

void SharedCollective::store(const Collective& from) {
  constexpr auto order = std::memory_order_relaxed;
  number_.store(from.number, order);
  step_.store(from.step, order);
  bytes_.store(from.bytes, order);
  place_.store(from.place, order);
  kind_.store(static_cast<int32_t>(from.kind), order);
  root_.store(from.root, order);
}

Collective SharedCollective::load() const {
  constexpr auto order = std::memory_order_relaxed;
  return {number_.load(order), step_.load(order),  static_cast<Kind>(kind_.load(order)),
          root_.load(order),   bytes_.load(order), place_.load(order)};
}

}  // namespace hone::comm

#include "io/pickle.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace hone::io {
namespace {

constexpr uint64_t kMaxBytes = 64 * 1024 * 1024;
constexpr uint64_t kMaxSteps = 2'000'000;  // about 30,000 tensors
constexpr uint64_t kFirstRead = 64 * 1024;
constexpr uint8_t kStop = '.';

}  // namespace

PickleReader::PickleReader(const InputFile& file, uint64_t begin, uint64_t end)
    : file_(file), begin_(begin), end_(end) {}

PickleValue PickleReader::load() {
  stack_.clear();
  marks_.clear();
  memo_.clear();
  for (;;) {
    const uint8_t opcode = take<uint8_t>();
    if (opcode == kStop) break;
    count_steps(1);
    step(opcode);
  }
  if (stack_.size() != 1 || !marks_.empty()) refuse("ends without one value");
  return pop();
}

void PickleReader::count_steps(uint64_t steps) {
  steps_ += steps;
  if (steps_ > kMaxSteps) {
    refuse(fmt::format("more than {} steps, which no checkpoint needs", kMaxSteps));
  }
}

void PickleReader::step(uint8_t opcode) {
  if (push_scalar(opcode) || push_text(opcode) || use_memo(opcode) || build_container(opcode) ||
      build_object(opcode)) {
    return;
  }
  refuse(fmt::format("opcode 0x{:02x} is not one that tensors need", opcode));
}

bool PickleReader::push_scalar(uint8_t opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (const uint8_t version = take<uint8_t>(); version < 2 || version > 5) {
        refuse(fmt::format("protocol {} is not supported", version));
      }
      return true;
    case 0x95:  // FRAME
      if (const uint64_t size = take<uint64_t>(); size > end_ - begin_ - at_) {
        refuse("a frame exceeds the file");
      }
      return true;
    case 'N':
      push({});
      return true;
    case 0x88:
    case 0x89:
      push({Kind::boolean, 0, opcode == 0x88 ? 1 : 0});
      return true;
    case 'J':
      push({Kind::integer, 0, take<int32_t>()});
      return true;
    case 'K':
      push({Kind::integer, 0, take<uint8_t>()});
      return true;
    case 'M':
      push({Kind::integer, 0, take<uint16_t>()});
      return true;
    case 0x8a:  // LONG1
      push(take_integer(take<uint8_t>()));
      return true;
    case 'G':  // BINFLOAT
      take<uint64_t>();
      push({Kind::real, 0, 0});
      return true;
    default:
      return false;
  }
}

bool PickleReader::push_text(uint8_t opcode) {
  switch (opcode) {
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING, from Python 2
      push(take_text(take<uint32_t>()));
      return true;
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
      push(take_text(take<uint8_t>()));
      return true;
    case 0x8d:  // BINUNICODE8
      push(take_text(take<uint64_t>()));
      return true;
    default:
      return false;
  }
}

bool PickleReader::use_memo(uint8_t opcode) {
  switch (opcode) {
    case 'q':
      put(take<uint8_t>());
      return true;
    case 'r':
      put(take<uint32_t>());
      return true;
    case 0x94:  // MEMOIZE
      put(memo_.size());
      return true;
    case 'h':
      get(take<uint8_t>());
      return true;
    case 'j':
      get(take<uint32_t>());
      return true;
    default:
      return false;
  }
}

void PickleReader::put(uint64_t slot) {
  // Picklers number slots one by one, two bytes each at least: a slot past that is a lie that
  // would only make the memo large.
  if (slot > at_ || stack_.empty()) refuse(fmt::format("memo slot {} cannot be set", slot));
  if (slot >= memo_.size()) memo_.resize(slot + 1);
  memo_[slot] = stack_.back();
}

void PickleReader::get(uint64_t slot) {
  if (slot >= memo_.size()) refuse(fmt::format("memo slot {} was never set", slot));
  push(memo_[slot]);
}

bool PickleReader::build_container(uint8_t opcode) {
  switch (opcode) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    case ')':
      push(make(Kind::tuple, {}));
      return true;
    case ']':
      push(make(Kind::list, {}));
      return true;
    case '}':
      push(make(Kind::dict, {}));
      return true;
    case 't':
      push(make(Kind::tuple, pop_to_mark()));
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      pop_items(opcode - 0x84u, Kind::tuple);
      return true;
    case 'a':
    case 'e': {
      const std::vector<PickleValue> added =
          opcode == 'e' ? pop_to_mark() : std::vector<PickleValue>{pop()};
      std::vector<PickleValue>& list = top_items(Kind::list);
      list.insert(list.end(), added.begin(), added.end());
      return true;
    }
    case 's':
    case 'u': {
      if (opcode == 's') {
        if (stack_.size() < (marks_.empty() ? 0 : marks_.back()) + 2) {
          refuse("takes more values than it has");
        }
        marks_.push_back(stack_.size() - 2);
      }
      const std::vector<PickleValue> added = pop_to_mark();
      if (added.size() % 2 != 0) refuse("a dict has a key without a value");
      std::vector<PickleValue>& dict = top_items(Kind::dict);
      dict.insert(dict.end(), added.begin(), added.end());
      return true;
    }
    default:
      return false;
  }
}

PickleValue PickleReader::make(Kind kind, std::vector<PickleValue> values) {
  containers_.push_back(std::move(values));
  return {kind, 0, static_cast<int64_t>(containers_.size()) - 1};
}

PickleValue PickleReader::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
    refuse("takes more values than it has");
  const PickleValue value = stack_.back();
  stack_.pop_back();
  return value;
}

std::vector<PickleValue> PickleReader::pop_to_mark() {
  if (marks_.empty()) refuse("ends a group that was not begun");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleValue> values(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return values;
}

void PickleReader::pop_items(size_t count, Kind kind) {
  std::vector<PickleValue> values(count);
  for (size_t i = count; i-- > 0;) values[i] = pop();
  push(make(kind, std::move(values)));
}

std::vector<PickleValue>& PickleReader::top_items(Kind kind) {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()) || !stack_.back().is(kind)) {
    refuse("adds to something that is not a container");
  }
  return containers_[static_cast<size_t>(stack_.back().number)];
}

const std::vector<PickleValue>& PickleReader::items(PickleValue value) const {
  return containers_[static_cast<size_t>(value.number)];
}

const PickleTensor& PickleReader::tensor(PickleValue value) const {
  return tensors_[static_cast<size_t>(value.number)];
}

std::string_view PickleReader::text(PickleValue value) const {
  return std::string_view(bytes_).substr(static_cast<size_t>(value.number), value.size);
}

const PickleValue* PickleReader::find(PickleValue dict, std::string_view key) const {
  if (!dict.is(Kind::dict)) return nullptr;
  const std::vector<PickleValue>& entries = items(dict);
  for (size_t i = entries.size(); i >= 2; i -= 2) {
    if (entries[i - 2].is(Kind::text) && text(entries[i - 2]) == key) return &entries[i - 1];
  }
  return nullptr;
}

/// Makes `bytes` bytes at at_ present. Reads grow with what was needed so far: the pickles of a
/// legacy file are followed by storages that should not be read here.
void PickleReader::need(uint64_t bytes) {
  if (bytes <= bytes_.size() - at_) return;
  if (bytes > end_ - begin_ - at_) refuse("ends too early");
  if (at_ + bytes > kMaxBytes) refuse(fmt::format("longer than {} bytes", kMaxBytes));
  const uint64_t had = bytes_.size();
  const uint64_t want = std::max({at_ + bytes, 2 * had, kFirstRead});
  bytes_.resize(std::min({want, end_ - begin_, kMaxBytes}));
  file_.read(begin_ + had, bytes_.data() + had, bytes_.size() - had);
}

template <typename T>
T PickleReader::take() {
  need(sizeof(T));
  T value;
  std::memcpy(&value, bytes_.data() + at_, sizeof value);
  at_ += sizeof value;
  return value;
}

PickleValue PickleReader::take_text(uint64_t size, Kind kind) {
  need(size);
  const PickleValue value = {kind, static_cast<uint32_t>(size), static_cast<int64_t>(at_)};
  at_ += size;
  return value;
}

/// Reads a little-endian integer in two's complement of any length.
PickleValue PickleReader::take_integer(size_t size) {
  if (size > sizeof(int64_t)) return take_text(size, Kind::big_integer);
  need(size);
  uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + at_, size);
  at_ += size;
  const bool negative = size > 0 && ((value >> (8 * size - 1)) & 1) != 0;
  if (negative && size < sizeof value) value |= ~uint64_t{0} << (8 * size);
  return {Kind::integer, 0, static_cast<int64_t>(value)};
}

PickleValue PickleReader::take_line() {
  constexpr uint64_t kLongest = 256;  // bytes of a module's or a class's name
  const uint64_t start = at_;
  while (take<uint8_t>() != '\n') {
    if (at_ - start > kLongest) refuse("a global's name is too long");
  }
  return {Kind::text, static_cast<uint32_t>(at_ - start - 1), static_cast<int64_t>(start)};
}

void PickleReader::refuse(std::string_view problem) const {
  fail(ErrorKind::bad_file, "{}: pickle at byte {}: {}", file_.path(), position(), problem);
}

}  // namespace hone::io

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tensor/dtype.h"

namespace hone::io {

/// A value of a pickle. It is small and copied freely; what it refers to belongs to its
/// PickleReader.
struct PickleValue {
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    big_integer,  ///< over 64 bits: its bytes as text()
    real,         ///< the value is dropped
    text,
    tuple,
    list,
    dict,
    global,
    storage,
    tensor,
  };
  Kind kind = Kind::none;
  uint32_t size = 0;   ///< text: bytes
  int64_t number = 0;  ///< the integer, the place of the text, or the index of the object

  bool is(Kind k) const { return kind == k; }
};

/// A storage that the pickle names; the container around it holds its elements.
struct PickleStorage {
  DType dtype;
  PickleValue key;
  int64_t elements;
};

struct PickleTensor {
  int64_t storage;  ///< index of a PickleStorage
  int64_t offset;   ///< in elements; may be anything
  PickleValue sizes;
  PickleValue strides;
};

/// Reads the pickles (protocols 2 to 4) with which torch.save describes tensors. It is a machine
/// that knows numbers, text, containers, torch's storages and the functions that rebuild tensors
/// and parameters from them. Nothing is ever imported or called: any other global is refused by
/// name. Memory is bounded by the bytes read, and those by a limit.
class PickleReader {
 public:
  /// Reads bytes [begin, end) of `file`, which must outlive this.
  PickleReader(const InputFile& file, uint64_t begin, uint64_t end);

  /// The value of the next pickle of the stream.
  PickleValue load();
  /// Gives the place in the file where the next byte would be read.
  uint64_t position() const { return begin_ + at_; }

  std::string_view text(PickleValue value) const;
  /// Gives the items of a tuple or list, and a dict's keys and values in turn.
  const std::vector<PickleValue>& items(PickleValue value) const;
  const PickleStorage& storage(int64_t index) const {
    return storages_[static_cast<size_t>(index)];
  }
  const std::vector<PickleStorage>& storages() const { return storages_; }
  const PickleTensor& tensor(PickleValue value) const;
  /// Gives the value of a text key of a dict (the last one, as in Python), or null.
  const PickleValue* find(PickleValue dict, std::string_view key) const;

 private:
  using Kind = PickleValue::Kind;

  void count_steps(uint64_t steps);
  void step(uint8_t opcode);
  bool push_scalar(uint8_t opcode);
  bool push_text(uint8_t opcode);
  bool build_container(uint8_t opcode);
  bool use_memo(uint8_t opcode);
  bool build_object(uint8_t opcode);

  void need(uint64_t bytes);
  template <typename T>
  T take();
  PickleValue take_text(uint64_t size, Kind kind = Kind::text);
  PickleValue take_integer(size_t bytes);
  PickleValue take_line();

  void push(PickleValue value) { stack_.push_back(value); }
  PickleValue pop();
  std::vector<PickleValue> pop_to_mark();
  void pop_items(size_t count, Kind kind);
  PickleValue make(Kind kind, std::vector<PickleValue> items);
  std::vector<PickleValue>& top_items(Kind kind);
  void put(uint64_t slot);
  void get(uint64_t slot);
  void push_global(std::string_view module, std::string_view name);
  void reduce();
  void reduce_ordered_dict(const std::vector<PickleValue>& arguments);
  void reduce_tensor(const std::vector<PickleValue>& arguments);
  void push_storage();
  [[noreturn]] void refuse(std::string_view problem) const;

  const InputFile& file_;
  const uint64_t begin_;
  const uint64_t end_;
  std::string bytes_;  ///< the file's bytes from begin_ on; texts refer to it
  uint64_t at_ = 0;
  uint64_t steps_ = 0;

  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleValue> memo_;
  std::vector<std::vector<PickleValue>> containers_;
  std::vector<PickleStorage> storages_;
  std::vector<PickleTensor> tensors_;
};

}  // namespace hone::io

#include "io/torch_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "io/pickle.h"
#include "io/strided.h"
#include "io/tensor_check.h"
#include "io/zip.h"

namespace hone::io {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxDims = 16;
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kLegacyVersion = 1001;

/// Says where a storage's elements lie in the file.
struct StoragePlace {
  uint64_t offset;
  uint64_t bytes;
};
using StoragePlaces = std::unordered_map<std::string, StoragePlace>;

bool holds_tensor(const PickleReader& pickle, PickleValue value) {
  if (!value.is(Kind::dict)) return false;
  const std::vector<PickleValue>& entries = pickle.items(value);
  for (size_t i = 1; i < entries.size(); i += 2) {
    if (entries[i].is(Kind::tensor)) return true;
  }
  return false;
}

PickleValue find_state_dict(const PickleReader& pickle, PickleValue top, const std::string& file) {
  for (const std::string_view key : {"state_dict", "model_state_dict", "model"}) {
    const PickleValue* nested = pickle.find(top, key);
    if (nested && holds_tensor(pickle, *nested)) return *nested;
  }
  if (holds_tensor(pickle, top)) return top;
  std::optional<PickleValue> only;
  std::unordered_set<int64_t> seen;  // one dict may occur any number of times
  if (top.is(Kind::dict)) {
    const std::vector<PickleValue>& entries = pickle.items(top);
    for (size_t i = 1; i < entries.size(); i += 2) {
      if (!entries[i].is(Kind::dict) || !seen.insert(entries[i].number).second) continue;
      if (!holds_tensor(pickle, entries[i])) continue;
      if (only)
        fail(ErrorKind::bad_file, "{}: several dicts of tensors, none named state_dict", file);
      only = entries[i];
    }
  }
  if (!only) fail(ErrorKind::bad_file, "{}: no dict of tensors in it", file);
  return *only;
}

std::vector<int64_t> integers(const PickleReader& pickle, PickleValue tuple,
                              const std::string& file, const std::string& name) {
  std::vector<int64_t> values;
  const std::vector<PickleValue>& items = pickle.items(tuple);
  for (const PickleValue& item : items) {
    if (items.size() > kMaxDims || !item.is(Kind::integer) || item.number < 0) {
      fail(ErrorKind::bad_file, "{}: {}: malformed shape or strides", file, quote(name));
    }
    values.push_back(item.number);
  }
  return values;
}

/// Gives one past the last element that the tensor touches, counted from its storage's begin, or
/// nothing where that does not fit.
std::optional<int64_t> reach(const TensorInfo& tensor, int64_t offset) {
  int64_t last = offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t span = 0;
    if (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.place.strides[d], &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return std::nullopt;
    }
  }
  return last == INT64_MAX ? std::nullopt : std::optional<int64_t>(last + 1);
}

bool is_contiguous(const TensorInfo& tensor) {
  const std::vector<int64_t> wanted = contiguous_strides(tensor.shape);
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (tensor.shape[d] != 1 && tensor.place.strides[d] != wanted[d]) return false;
  }
  return true;
}

TensorInfo resolve(const PickleReader& pickle, std::string_view name, const PickleTensor& tensor,
                   const StoragePlaces& places, const std::string& file) {
  const PickleStorage& storage = pickle.storage(tensor.storage);
  const StoragePlace& place = places.at(std::string(pickle.text(storage.key)));
  TensorInfo info{std::string(name), storage.dtype, {}, 0, {}};
  info.shape = integers(pickle, tensor.sizes, file, info.name);
  info.place.strides = integers(pickle, tensor.strides, file, info.name);
  const std::optional<int64_t> elements = count_elements(info.shape);
  if (!elements || info.shape.size() != info.place.strides.size()) {
    fail(ErrorKind::bad_file, "{}: {}: malformed shape or strides", file, quote(info.name));
  }
  info.elements = *elements;
  info.place.offset = place.offset;
  if (info.elements == 0) {
    info.place.strides.clear();
    return info;
  }
  const uint64_t size = dtype_size(info.dtype);
  const int64_t stored = static_cast<int64_t>(place.bytes / size);
  const std::optional<int64_t> end = tensor.offset < 0 ? std::nullopt : reach(info, tensor.offset);
  if (storage.elements != stored) {
    fail(ErrorKind::bad_file, "{}: {}: a storage of {} elements has {}", file, quote(info.name),
         storage.elements, stored);
  }
  if (!end || *end > stored) {
    fail(ErrorKind::bad_file, "{}: {}: reaches beyond its storage of {} elements", file,
         quote(info.name), stored);
  }
  // Stride 0 can make any size out of one element; what asks for memory must have a file to match.
  if (info.elements > stored) {
    fail(ErrorKind::unsupported, "{}: {}: an expanded view of {} elements in a storage of {}", file,
         quote(info.name), info.elements, stored);
  }
  info.place.offset += static_cast<uint64_t>(tensor.offset) * size;
  if (is_contiguous(info)) info.place.strides.clear();
  return info;
}

std::vector<TensorInfo> collect(const PickleReader& pickle, PickleValue top,
                                const StoragePlaces& places, const std::string& file) {
  const std::vector<PickleValue>& entries = pickle.items(find_state_dict(pickle, top, file));
  std::vector<TensorInfo> tensors;
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < entries.size(); i += 2) {
    if (!entries[i + 1].is(Kind::tensor)) continue;
    if (!entries[i].is(Kind::text)) {
      fail(ErrorKind::bad_file, "{}: a tensor's key is not text", file);
    }
    const std::string_view name = pickle.text(entries[i]);
    check_tensor_name(name, file);
    if (!names.insert(name).second) {
      fail(ErrorKind::bad_file, "{}: tensor {} occurs twice", file, quote(name));
    }
    tensors.push_back(resolve(pickle, name, pickle.tensor(entries[i + 1]), places, file));
  }
  return tensors;
}

std::vector<TensorInfo> read_zip(const InputFile& file) {
  constexpr std::string_view kPickle = "data.pkl";
  const ZipDirectory zip(file);
  const std::string pickle_name = zip.find_suffix(kPickle);
  if (pickle_name.empty()) fail(ErrorKind::bad_file, "{}: zip file without data.pkl", file.path());
  const std::string root = pickle_name.substr(0, pickle_name.size() - kPickle.size());
  if (zip.has(root + "byteorder")) {
    const ZipDirectory::Range range = zip.find(root + "byteorder");
    std::string order(std::min<uint64_t>(range.size, 16), '\0');
    file.read(range.offset, order.data(), order.size());
    if (order != "little") {
      fail(ErrorKind::unsupported, "{}: byteorder {} is not supported", file.path(), quote(order));
    }
  }
  const ZipDirectory::Range range = zip.find(pickle_name);
  PickleReader pickle(file, range.offset, range.offset + range.size);
  const PickleValue top = pickle.load();
  StoragePlaces places;
  for (const PickleStorage& storage : pickle.storages()) {
    const std::string key(pickle.text(storage.key));
    if (places.contains(key)) continue;
    const ZipDirectory::Range data = zip.find(fmt::format("{}data/{}", root, key));
    places.emplace(key, StoragePlace{data.offset, data.size});
  }
  return collect(pickle, top, places, file.path());
}

/// Finds the storages behind the pickles: for each key, in their order, a count of elements and the
/// elements.
StoragePlaces legacy_places(const InputFile& file, const PickleReader& pickle,
                            const std::vector<PickleValue>& keys) {
  std::unordered_map<std::string_view, DType> dtypes;
  for (const PickleStorage& storage : pickle.storages()) {
    const auto [it, added] = dtypes.emplace(pickle.text(storage.key), storage.dtype);
    if (!added && it->second != storage.dtype) {
      fail(ErrorKind::bad_file, "{}: storage {} has two dtypes", file.path(), quote(it->first));
    }
  }
  StoragePlaces places;
  uint64_t at = pickle.position();
  for (const PickleValue& value : keys) {
    const std::string key(value.is(Kind::text) ? pickle.text(value) : "");
    const auto dtype = dtypes.find(key);
    if (dtype == dtypes.end()) {
      fail(ErrorKind::bad_file, "{}: storage {} belongs to no tensor", file.path(), quote(key));
    }
    int64_t elements = 0;
    if (file.size() - at < sizeof elements) {
      fail(ErrorKind::bad_file, "{}: ends before storage {}", file.path(), quote(key));
    }
    file.read(at, &elements, sizeof elements);
    at += sizeof elements;
    const uint64_t size = dtype_size(dtype->second);
    if (elements < 0 || static_cast<uint64_t>(elements) > (file.size() - at) / size) {
      fail(ErrorKind::bad_file, "{}: storage {} of {} elements exceeds the file", file.path(),
           quote(key), elements);
    }
    const uint64_t bytes = static_cast<uint64_t>(elements) * size;
    if (!places.emplace(key, StoragePlace{at, bytes}).second) {
      fail(ErrorKind::bad_file, "{}: storage {} occurs twice", file.path(), quote(key));
    }
    at += bytes;
  }
  for (const auto& [key, dtype] : dtypes) {
    if (!places.contains(std::string(key))) {
      fail(ErrorKind::bad_file, "{}: storage {} is missing", file.path(), quote(key));
    }
  }
  return places;
}

std::vector<TensorInfo> read_legacy(const InputFile& file) {
  PickleReader pickle(file, 0, file.size());
  const PickleValue magic = pickle.load();
  if (!magic.is(Kind::big_integer) || pickle.text(magic) != kLegacyMagic) {
    fail(ErrorKind::bad_file, "{}: a pickle, but not one of torch.save", file.path());
  }
  const PickleValue version = pickle.load();
  if (!version.is(Kind::integer) || version.number != kLegacyVersion) {
    fail(ErrorKind::unsupported, "{}: version {} of torch's legacy format", file.path(),
         version.number);
  }
  const PickleValue system = pickle.load();
  const PickleValue* little = pickle.find(system, "little_endian");
  if (little && !(little->is(Kind::boolean) && little->number == 1)) {
    fail(ErrorKind::unsupported, "{}: big-endian storages are not supported", file.path());
  }
  const PickleValue top = pickle.load();
  const PickleValue keys = pickle.load();
  if (!keys.is(Kind::list)) {
    fail(ErrorKind::bad_file, "{}: the list of storages is malformed", file.path());
  }
  return collect(pickle, top, legacy_places(file, pickle, pickle.items(keys)), file.path());
}

}  // namespace

std::vector<TensorInfo> read_torch_file(const InputFile& file) {
  std::array<char, 4> head{};
  file.read(0, head.data(), std::min<uint64_t>(head.size(), file.size()));
  const bool zip = std::string_view(head.data(), head.size()) == "PK\3\4";
  return zip ? read_zip(file) : read_legacy(file);
}

}  // namespace hone::io

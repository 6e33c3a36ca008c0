// layers: io
#include "fuzz/weights_checks.h"

// Input that begins as neither of torch's containers is taken as the pickle of a zip file with one
// storage, so that the fuzzer need not keep a directory's offsets right.
namespace {

std::vector<uint8_t> archive(const uint8_t* data, size_t size) {
  std::vector<uint8_t> out;
  std::vector<uint8_t> directory;
  uint32_t entries = 0;
  const auto put = [](std::vector<uint8_t>& to, const void* from, size_t bytes) {
    const auto* begin = static_cast<const uint8_t*>(from);
    to.insert(to.end(), begin, begin + bytes);
  };
  const auto add = [&](const std::string& name, const void* bytes, uint32_t length) {
    std::vector<uint8_t> local(30);
    std::vector<uint8_t> central(46);
    std::memcpy(local.data(), "PK\3\4", 4);
    std::memcpy(central.data(), "PK\1\2", 4);
    const uint16_t name_size = static_cast<uint16_t>(name.size());
    const uint32_t place = static_cast<uint32_t>(out.size());
    std::memcpy(&local[26], &name_size, 2);
    std::memcpy(&central[20], &length, 4);
    std::memcpy(&central[24], &length, 4);
    std::memcpy(&central[28], &name_size, 2);
    std::memcpy(&central[42], &place, 4);
    put(out, local.data(), local.size());
    put(out, name.data(), name.size());
    put(out, bytes, length);
    put(directory, central.data(), central.size());
    put(directory, name.data(), name.size());
    ++entries;
  };
  add("a/data.pkl", data, static_cast<uint32_t>(size));
  const std::vector<uint8_t> storage(256, 1);
  add("a/data/0", storage.data(), static_cast<uint32_t>(storage.size()));
  std::vector<uint8_t> end(22);
  std::memcpy(end.data(), "PK\5\6", 4);
  const uint32_t directory_size = static_cast<uint32_t>(directory.size());
  const uint32_t directory_place = static_cast<uint32_t>(out.size());
  std::memcpy(&end[12], &directory_size, 4);
  std::memcpy(&end[16], &directory_place, 4);
  put(out, directory.data(), directory.size());
  put(out, end.data(), end.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const bool zip = size > 4 && std::memcmp(data, "PK\3\4", 4) == 0;
  const bool legacy = size > 4 && std::memcmp(data, "\x80\x02\x8a\x0a", 4) == 0;
  if (zip || legacy) {
    hone::check_weights(data, size);
  } else {
    const std::vector<uint8_t> bytes = archive(data, size);
    hone::check_weights(bytes.data(), bytes.size());
  }
  return 0;
}

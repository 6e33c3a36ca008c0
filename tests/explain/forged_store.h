#pragma once

#include <functional>
#include <string>

#include "base/file.h"
#include "data/content_hash.h"

namespace hone::explain {

/// Rewrites a store of concepts after `change`, with the hash that is right then.
inline void forge_store(const std::string& path, const std::function<void(std::string&)>& change) {
  std::string bytes = read_file(path);
  bytes.resize(bytes.size() - sizeof(data::Hash128));
  change(bytes);
  data::ContentHash hash;
  hash.bytes(bytes.data(), bytes.size());
  const data::Hash128 value = hash.value();
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  write_file(path, bytes);
}

}  // namespace hone::explain

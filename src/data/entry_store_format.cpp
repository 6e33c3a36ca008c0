#include "data/entry_store_format.h"

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "data/content_hash.h"

namespace hone::data::entry_format {
namespace {

constexpr int64_t kChunkBytes = 100 << 10;
constexpr int64_t kMostRows = int64_t{1} << 40;

}  // namespace

std::vector<io::Column> columns(int64_t length) {
  const int64_t chunk_rows = std::clamp<int64_t>(kChunkBytes / (4 * length), 1, 1024);
  return {{"ids", io::ColumnType::i32, length, chunk_rows, io::ColumnFilter::deflate},
          {"lengths", io::ColumnType::i32},
          {"labels", io::ColumnType::f32},
          {"hash", io::ColumnType::u64, 2}};
}

std::string manifest_text(const Manifest& manifest) {
  Json files = Json::object();
  for (const auto& [name, facts] : manifest.files) {
    files[name] = {{"bytes", facts.bytes}, {"hash", facts.hash}};
  }
  Json json = {{"format", kVersion},
               {"rows", manifest.rows},
               {"length", manifest.length},
               {"id_end", manifest.id_end},
               {"vocabulary", manifest.has_words ? Json(kVocabulary) : Json()},
               {"tokenizer", manifest.tokenizer.empty() ? Json() : Json(manifest.tokenizer)},
               {"records", manifest.records},
               {"empty", manifest.empty},
               {"duplicates", manifest.duplicates},
               {"files", files}};
  return indented_json(json);
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  const Json json = parse_json(text, file);
  const JsonFields fields(json, file);
  fields.integer("format", kVersion, kVersion);
  Manifest manifest;
  manifest.rows = fields.integer("rows", 0, kMostRows);
  manifest.length = fields.integer("length", 1, kMostLength);
  manifest.id_end = fields.integer("id_end", 1, std::numeric_limits<int32_t>::max());
  manifest.has_words = fields.has("vocabulary");
  manifest.tokenizer = fields.string("tokenizer", "");
  manifest.records = fields.integer("records", 0, kMostRows);
  manifest.empty = fields.integer("empty", 0, kMostRows);
  manifest.duplicates = fields.integer("duplicates", 0, kMostRows);
  const Json& files = fields.at("files");
  if (!files.is_object()) fields.fail_field("files", "expected sizes and hashes by name");
  for (const auto& [name, entry] : files.items()) {
    if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos) {
      fields.fail_field("files", "expected names of files beside it");
    }
    const JsonFields facts(entry, file, "files." + name);
    manifest.files[name] = {
        static_cast<uint64_t>(facts.integer("bytes", 0, std::numeric_limits<int64_t>::max())),
        facts.string("hash")};
  }
  return manifest;
}

FileFacts facts_of(std::string_view bytes) {
  ContentHash hash;
  hash.text(bytes);  // the length, then the bytes, which is what ContentHash::file() adds
  return {bytes.size(), hex(hash.value())};
}

}  // namespace hone::data::entry_format

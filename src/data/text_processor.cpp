#include "data/text_processor.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "text/words.h"

namespace hone::data {
namespace {

/// Hashes the tokenizer's files: names and where they lie, or names and texts.
void hash_origin(const TextProcessor::Origin& origin, ContentHash& hash) {
  for (const auto& [name, text] : origin.files) {
    hash.text(name);
    hash.text(text);
  }
  if (origin.path.empty()) return;
  if (!folder_exists(origin.path)) return hash.file(origin.path);
  for (const char* name : text::kTokenizerFiles) {
    const std::string file = origin.path + "/" + name;
    if (!file_exists(file)) continue;
    hash.text(name);
    hash.file(file);
  }
}

/// Gives what a folder, or a tokenizer.json, says of its model.
std::string tokenizer_kind(const std::string& folder) {
  const std::string file = folder_exists(folder) ? folder + "/tokenizer.json" : folder;
  if (file_exists(file)) {
    const Json json = parse_json(read_file(file), file);
    return JsonFields(json, file).object("model").string("type", std::string("unnamed"));
  }
  if (file_exists(folder + "/vocab.txt")) return "WordPiece";
  if (file_exists(folder + "/" + text::kVocabularyFile)) return "words";
  return file_exists(folder + "/merges.txt") ? "BPE" : "Unigram";
}

}  // namespace

TextProcessor::TextProcessor(text::Tokenizer tokenizer, Origin origin, const TextLimits& limits,
                             int64_t max_length, const std::string& model)
    : TextProcessor(text_layout(), std::move(tokenizer), std::move(origin), limits, max_length,
                    model) {}

TextProcessor::TextProcessor(std::shared_ptr<const BatchLayout> layout, text::Tokenizer tokenizer,
                             Origin origin, const TextLimits& limits, int64_t max_length,
                             const std::string& model)
    : Processor(std::move(layout)),
      tokenizer_(std::move(tokenizer)),
      origin_(std::move(origin)),
      limits_(limits),
      max_length_(max_length) {
  if (tokenizer_.id_end() > limits.vocabulary) {
    fail(ErrorKind::bad_file, "{}: the tokenizer has ids up to {}, the model {} embeddings", model,
         tokenizer_.id_end() - 1, limits.vocabulary);
  }
  encode_.truncation = tokenizer_.truncation().value_or(text::Truncation{});
  encode_.truncation->max_length = static_cast<size_t>(max_length);
}

Hash128 TextProcessor::hash() const {
  ContentHash hash;
  hash_origin(origin_, hash);
  hash.number(encode_.add_special_tokens);
  hash.number(encode_.truncation->max_length);
  hash.number(static_cast<uint64_t>(encode_.truncation->strategy));
  hash.number(static_cast<uint64_t>(encode_.truncation->direction));
  if (limits_.pads) hash.text("padded");
  return hash.value();
}

void TextProcessor::encode(std::span<const RawSample> raw, ThreadPool& pool,
                           std::vector<EncodedSample>& out) const {
  encode_with(encode_, raw, pool, out);
}

void TextProcessor::encode_cut_left(std::span<const RawSample> raw, ThreadPool& pool,
                                    std::vector<EncodedSample>& out) const {
  text::EncodeOptions options = encode_;
  options.truncation->direction = text::Truncation::Direction::left;
  encode_with(options, raw, pool, out);
}

void TextProcessor::encode_ids(std::span<const int32_t> ids, bool cut_left,
                               EncodedSample& out) const {
  if (ids.empty()) fail(ErrorKind::usage, "token ids: there are none");
  for (const int32_t id : ids) {
    if (id < 0 || id >= limits_.vocabulary) {
      fail(ErrorKind::usage, "token ids: {} is outside the model's {} embeddings", id,
           limits_.vocabulary);
    }
  }
  const size_t kept = std::min(ids.size(), static_cast<size_t>(max_length_));
  resize_sample(kept_tokens(kept), ids.size(), out);
  std::memcpy(out.bytes.data(), (cut_left ? ids.last(kept) : ids.first(kept)).data(),
              kept * sizeof(int32_t));
}

size_t TextProcessor::kept_tokens(size_t found) const {
  if (limits_.pads) return static_cast<size_t>(max_length_);
  // A model that reads the last word needs one, also of a text without words.
  return limits_.reads_last ? std::max<size_t>(found, 1) : found;
}

void TextProcessor::resize_sample(size_t kept, size_t full, EncodedSample& out) const {
  out.units = static_cast<int64_t>(kept);
  out.full = static_cast<int64_t>(std::max(kept, full));
  out.bytes.assign(kept * static_cast<size_t>(unit_bytes()), std::byte{0});
  const auto pad = static_cast<int32_t>(limits_.pad_id);
  for (size_t i = 0; pad != 0 && i < kept; ++i) {
    std::memcpy(out.bytes.data() + i * sizeof(int32_t), &pad, sizeof(pad));
  }
}

void TextProcessor::encode_with(const text::EncodeOptions& options, std::span<const RawSample> raw,
                                ThreadPool& pool, std::vector<EncodedSample>& out) const {
  out.resize(raw.size());
  tokenizer_.encode_each(raw, options, pool, [&](size_t i, const text::Encoding& encoding) {
    EncodedSample& sample = out[i];
    if (!raw[i].ids.empty()) {
      const auto cut = options.truncation->direction;
      return encode_ids(raw[i].ids, cut == text::Truncation::Direction::left, sample);
    }
    const size_t kept = kept_tokens(encoding.size());
    resize_sample(kept, encoding.untruncated, sample);
    std::byte* types = sample.bytes.data() + kept * sizeof(int32_t);
    if (encoding.size() > 0) {
      std::memcpy(sample.bytes.data(), encoding.ids.data(), encoding.size() * sizeof(int32_t));
    }
    for (size_t k = 0; k < encoding.size(); ++k) {
      const int32_t type = encoding.type_ids[k];
      if (type < 0 || type > UINT8_MAX) {
        fail(ErrorKind::unsupported, "tokenizer: type id: expected 0 to 255, got {}", type);
      }
      types[k] = static_cast<std::byte>(type);
    }
    add_to(sample, raw[i], encoding);
  });
}

void TextProcessor::append(std::span<const std::byte> sample, int64_t number, Batch& batch) const {
  append_with(sample, number, batch, {});
}

void TextProcessor::append_with(std::span<const std::byte> sample, int64_t number, Batch& batch,
                                std::span<const int64_t> more) const {
  const size_t length = sample.size() / static_cast<size_t>(unit_bytes());
  thread_local std::vector<int32_t> ids;
  thread_local std::vector<int32_t> types;
  ids.resize(length);
  types.resize(length);
  if (length > 0) std::memcpy(ids.data(), sample.data(), length * sizeof(int32_t));
  const std::byte* bytes = sample.data() + length * sizeof(int32_t);
  for (size_t i = 0; i < length; ++i) types[i] = static_cast<int32_t>(bytes[i]);
  append_tokens(limits_, ids, types, number, batch, more);
}

OrderedJson TextProcessor::facts() const {
  const bool words = !origin_.files.empty() && origin_.files.front().name == text::kVocabularyFile;
  const std::string kind = words                  ? "words"
                           : origin_.path.empty() ? "WordPiece"
                                                  : tokenizer_kind(origin_.path);
  return {{"tokenizer", kind}, {"vocabulary", tokenizer_.id_end()}};
}

std::vector<TextFile> TextProcessor::files() const {
  std::vector<TextFile> files = origin_.files;
  if (origin_.path.empty()) return files;
  if (!folder_exists(origin_.path)) return {{"tokenizer.json", read_file(origin_.path)}};
  for (const char* name : text::kTokenizerFiles) {
    const std::string from = origin_.path + "/" + name;
    if (file_exists(from)) files.push_back({name, read_file(from)});
  }
  return files;
}

}  // namespace hone::data

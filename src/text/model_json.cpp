#include "text/model_json.h"

#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/file.h"

namespace hone::text {
namespace {

constexpr size_t kMaxDepth = 128;

/// The bytes of a file, a block at a time, as nlohmann's parser takes them.
class FileBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  FileBytes() = default;
  explicit FileBytes(const InputFile& file) : block_(std::make_shared<Block>(file)) { fill(); }

  reference operator*() const { return block_->bytes[block_->at]; }
  FileBytes& operator++() {
    if (++block_->at == block_->size) fill();
    return *this;
  }
  bool operator!=(const FileBytes&) const { return block_ != nullptr; }  // only compared to the end
  bool operator==(const FileBytes&) const { return block_ == nullptr; }

 private:
  struct Block {
    explicit Block(const InputFile& f) : file(f) {}
    const InputFile& file;
    uint64_t done = 0;
    size_t at = 0;
    size_t size = 0;
    char bytes[1 << 16];
  };
  void fill() {
    Block& block = *block_;
    block.at = 0;
    block.size = static_cast<size_t>(
        std::min<uint64_t>(sizeof(block.bytes), block.file.size() - block.done));
    block.file.read(block.done, block.bytes, block.size);
    block.done += block.size;
    if (block.size == 0) block_ = nullptr;
  }
  std::shared_ptr<Block> block_;
};

class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(TokenizerJson& out, const std::string& file) : out_(out), file_(file) {}

  bool null() override { return place_ ? bad("null") : add(nullptr); }
  bool boolean(bool value) override { return place_ ? bad("a boolean") : add(value); }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override { return number(value); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override { return place_ ? text(value) : add(std::move(value)); }
  bool binary(binary_t&) override { return bad("binary data"); }

  bool start_object(size_t) override {
    if (place_) return bad("an object");
    if (at_large_part("vocab")) return enter(&Handler::vocab_entry);
    return push(Json::object());
  }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return place_ ? leave() : pop(); }
  bool start_array(size_t) override {
    if (place_) return inner_ ? bad("a list") : (inner_ = true);
    if (at_large_part("vocab")) return enter(&Handler::scored_entry);
    if (at_large_part("merges")) return enter(&Handler::merge_entry);
    return push(Json::array());
  }
  bool end_array() override {
    if (!place_) return pop();
    if (!inner_) return leave();
    (this->*place_)(true);
    inner_ = false;
    texts_.clear();
    numbers_.clear();
    return true;
  }
  bool parse_error(size_t at, const std::string&, const Json::exception&) override {
    fail(ErrorKind::bad_file, "{}: not valid JSON at byte {}", file_, at);
  }

 private:
  using Place = void (Handler::*)(bool list);

  bool at_large_part(std::string_view name) const {
    return stack_.size() == 2 && top_key_ == "model" && key_ == name;
  }
  bool enter(Place place) {
    place_ = place;
    if (place == &Handler::merge_entry) {
      out_.merges.clear();
    } else {
      out_.vocab.clear();
      out_.scored.clear();
    }
    large_ = key_;
    add(Json::object());
    return true;
  }
  bool leave() {
    place_ = nullptr;
    return true;
  }
  [[noreturn]] bool bad(std::string_view what) const {
    fail(ErrorKind::bad_file, "{}: {}: unexpected {} after {}", file_,
         place_ ? "model." + large_ : "top level", what, quote(key_));
  }

  // Entries of the large parts are collected, and taken when they are whole.
  bool text(string_t& value) {
    texts_.push_back(std::move(value));
    if (!inner_) (this->*place_)(false);
    if (!inner_) texts_.clear();
    return true;
  }
  template <typename Number>
  bool number(Number value) {
    if (!place_) return add(value);
    numbers_.push_back(static_cast<double>(value));
    if (!inner_) (this->*place_)(false);
    if (!inner_) numbers_.clear();
    return true;
  }
  void vocab_entry(bool list) {
    if (list || !texts_.empty()) bad(list ? "list" : "string");
    const double id = numbers_[0];
    if (!(id >= 0 && id <= std::numeric_limits<int32_t>::max() - 1) ||
        id != static_cast<int32_t>(id)) {
      fail(ErrorKind::bad_file, "{}: model.vocab: expected an id for {}, got {}", file_,
           quote(key_), id);
    }
    out_.vocab.emplace_back(std::move(key_), static_cast<int32_t>(id));
  }
  void scored_entry(bool list) {
    if (!list || texts_.size() != 1 || numbers_.size() != 1) {
      fail(ErrorKind::bad_file, "{}: model.vocab: entry {} is not [token, score]", file_,
           out_.scored.size());
    }
    out_.scored.emplace_back(std::move(texts_[0]), numbers_[0]);
  }
  void merge_entry(bool list) {
    if (list && texts_.size() == 2 && numbers_.empty()) {
      out_.merges.emplace_back(std::move(texts_[0]), std::move(texts_[1]));
      return;
    }
    const size_t space = list || texts_.empty() ? std::string::npos : texts_[0].find(' ');
    if (space == std::string::npos || texts_[0].find(' ', space + 1) != std::string::npos) {
      fail(ErrorKind::bad_file, "{}: model.merges: entry {} is not a pair, got {}", file_,
           out_.merges.size(), quote(texts_.empty() ? "" : texts_[0]));
    }
    out_.merges.emplace_back(texts_[0].substr(0, space), texts_[0].substr(space + 1));
  }

  // The other events make the tree of everything else.
  template <typename Value>
  Json* place_value(Value&& value) {
    if (stack_.empty()) {
      out_.rest = std::forward<Value>(value);
      return &out_.rest;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::forward<Value>(value));
      return &parent.back();
    }
    return &(parent[key_] = std::forward<Value>(value));
  }
  template <typename Value>
  bool add(Value&& value) {
    place_value(Json(std::forward<Value>(value)));
    return true;
  }
  bool push(Json container) {
    if (stack_.size() >= kMaxDepth) {
      fail(ErrorKind::bad_file, "{}: JSON nests deeper than {} levels", file_, kMaxDepth);
    }
    if (stack_.size() == 1) top_key_ = key_;
    stack_.push_back(place_value(std::move(container)));
    return true;
  }
  bool pop() {
    stack_.pop_back();
    return true;
  }

  TokenizerJson& out_;
  const std::string& file_;
  std::vector<Json*> stack_;
  std::string key_;
  std::string top_key_;
  std::string large_;
  Place place_ = nullptr;  ///< what takes entries, inside a large part
  bool inner_ = false;     ///< inside an entry that is a list
  std::vector<std::string> texts_;
  std::vector<double> numbers_;
};

template <typename Iterator>
TokenizerJson parse(Iterator begin, Iterator end, const std::string& file) {
  TokenizerJson out;
  Handler handler(out, file);
  Json::sax_parse(std::move(begin), std::move(end), &handler);
  return out;
}

}  // namespace

TokenizerJson read_tokenizer_json(const std::string& path) {
  const InputFile file(path);
  return parse(FileBytes(file), FileBytes(), path);
}

TokenizerJson parse_tokenizer_json(std::string_view text, const std::string& file) {
  return parse(text.begin(), text.end(), file);
}

}  // namespace hone::text

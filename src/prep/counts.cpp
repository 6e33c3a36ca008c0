#include "prep/counts.h"

#include <algorithm>
#include <cstring>
#include <queue>

#include "base/error.h"
#include "base/file.h"

namespace hone::prep {
namespace {

constexpr size_t kStep = size_t{64} << 10;

void put_count(std::string& out, std::string_view word, uint64_t count) {
  const auto size = static_cast<uint32_t>(word.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.append(reinterpret_cast<const char*>(&count), sizeof count);
  out += word;
}

/// Reads a file of counts from its begin to its end, a little at a time.
class CountStream {
 public:
  explicit CountStream(const std::string& path) : file_(path) {}

  /// Steps to the next word; false at the end.
  bool next() {
    uint32_t size = 0;
    if (!fill(sizeof size + sizeof count)) return false;
    std::memcpy(&size, buffer_.data() + begin_, sizeof size);
    std::memcpy(&count, buffer_.data() + begin_ + sizeof size, sizeof count);
    begin_ += sizeof size + sizeof count;
    if (!fill(size)) fail(ErrorKind::bad_file, "{}: damaged", file_.path());
    word.assign(buffer_, begin_, size);
    begin_ += size;
    return true;
  }

  std::string word;
  uint64_t count = 0;

 private:
  bool fill(size_t bytes) {
    if (buffer_.size() - begin_ >= bytes) return true;
    buffer_.erase(0, begin_);
    begin_ = 0;
    const auto more =
        static_cast<size_t>(std::min<uint64_t>(std::max(bytes, kStep), file_.size() - at_));
    const size_t held = buffer_.size();
    buffer_.resize(held + more);
    file_.read(at_, buffer_.data() + held, more);
    at_ += more;
    return buffer_.size() >= bytes;
  }

  InputFile file_;
  uint64_t at_ = 0;
  std::string buffer_;
  size_t begin_ = 0;
};

struct Counted {
  uint64_t count = 0;
  std::string word;
  /// Says whether this one stands before the other in a vocabulary.
  bool operator<(const Counted& other) const {
    return count != other.count ? count > other.count : word < other.word;
  }
};

/// The best so many of those that come; the worst of them is on top of a heap.
class Best {
 public:
  explicit Best(size_t size) : size_(size) {}
  void add(Counted counted) {
    if (size_ == 0 || (heap_.size() == size_ && !(counted < heap_.front()))) return;
    heap_.push_back(std::move(counted));
    std::push_heap(heap_.begin(), heap_.end());
    if (heap_.size() <= size_) return;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }
  std::vector<Counted> take() {
    std::sort(heap_.begin(), heap_.end());
    return std::move(heap_);
  }

 private:
  size_t size_;
  std::vector<Counted> heap_;
};

}  // namespace

void WordCounts::add(std::span<const uint16_t> codes) {
  walk(
      codes,
      [&](uint16_t code) {
        if (code >= counts_.size()) return false;
        ++counts_[code];
        return true;
      },
      [&](std::string_view word) {
        const auto found = others_.find(word);
        if (found != others_.end()) {
          ++found->second;
        } else {
          others_.emplace(word, 1);
        }
        return true;
      });
}

std::string WordCounts::bytes() const {
  std::vector<std::pair<std::string_view, uint64_t>> all;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) all.emplace_back(dictionary_.words()[i], counts_[i]);
  }
  for (const auto& [word, count] : others_) all.emplace_back(word, count);
  std::sort(all.begin(), all.end());
  std::string out;
  for (const auto& [word, count] : all) put_count(out, word, count);
  return out;
}

std::vector<std::string> commonest_words(const std::vector<std::string>& paths, size_t size) {
  std::vector<CountStream> streams;
  streams.reserve(paths.size());
  const auto behind = [&](size_t a, size_t b) { return streams[a].word > streams[b].word; };
  std::priority_queue<size_t, std::vector<size_t>, decltype(behind)> heads(behind);
  for (const std::string& path : paths) {
    streams.emplace_back(path);
    if (streams.back().next()) heads.push(streams.size() - 1);
  }
  Best best(size);
  while (!heads.empty()) {
    Counted sum{0, streams[heads.top()].word};
    while (!heads.empty() && streams[heads.top()].word == sum.word) {
      const size_t stream = heads.top();
      heads.pop();
      sum.count += streams[stream].count;
      if (streams[stream].next()) heads.push(stream);
    }
    best.add(std::move(sum));
  }
  std::vector<std::string> words;
  for (Counted& counted : best.take()) words.push_back(std::move(counted.word));
  return words;
}

std::string vocabulary_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += word;
    text += '\n';
  }
  return text;
}

std::vector<std::string> lines_of_text(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t size = text.find('\n');
    lines.emplace_back(text.substr(0, size));
    text.remove_prefix(size == text.npos ? text.size() : size + 1);
  }
  return lines;
}

}  // namespace hone::prep

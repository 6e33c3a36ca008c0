#include "prep/parts.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace hone::prep {
namespace {

constexpr size_t kPiece = size_t{64} << 10;

bool is_packed(const std::string& path) { return path.ends_with(".gz") || path.ends_with(".xz"); }

bool is_cut(const Input& input) {
  return !is_packed(input.path) && input.format != data::Format::csv;
}

/// Gives the bytes of a range of a file, behind a line of its own where there is one.
class RangeSource : public data::ByteSource {
 public:
  RangeSource(InputFile file, uint64_t begin, uint64_t end, std::string before)
      : file_(std::move(file)), at_(begin), end_(end), before_(std::move(before)) {}

  size_t read(char* out, size_t capacity) override {
    if (given_ < before_.size()) {
      const size_t got = before_.copy(out, capacity, given_);
      given_ += got;
      return got;
    }
    const auto size = static_cast<size_t>(std::min<uint64_t>(capacity, end_ - at_));
    file_.read(at_, out, size);
    at_ += size;
    return size;
  }
  bool ready() override { return true; }

 private:
  InputFile file_;
  uint64_t at_;
  uint64_t end_;
  std::string before_;
  size_t given_ = 0;
};

/// Gives where the first line begins at byte `at` or behind it.
uint64_t line_begin(const InputFile& file, uint64_t at) {
  if (at == 0) return 0;
  std::vector<char> piece(kPiece);
  for (uint64_t from = at - 1; from < file.size(); from += kPiece) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(kPiece, file.size() - from));
    file.read(from, piece.data(), size);
    if (const void* found = std::memchr(piece.data(), '\n', size)) {
      return from + static_cast<uint64_t>(static_cast<const char*>(found) - piece.data()) + 1;
    }
  }
  return file.size();
}

int64_t count_lines_before(const InputFile& file, uint64_t end) {
  std::vector<char> piece(kPiece);
  int64_t lines = 0;
  for (uint64_t from = 0; from < end; from += kPiece) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(kPiece, end - from));
    file.read(from, piece.data(), size);
    lines += std::count(piece.data(), piece.data() + size, '\n');
  }
  return lines;
}

/// Gives a table's first line, which names its columns, with its end.
std::string header_of(const InputFile& file) {
  const uint64_t end = line_begin(file, 1);
  if (end > ReviewStream::kLongestRecord) {
    fail(ErrorKind::bad_file, "{}: line 1: longer than {} bytes", file.path(),
         ReviewStream::kLongestRecord);
  }
  std::string header(static_cast<size_t>(end), '\0');
  file.read(0, header.data(), header.size());
  return header;
}

}  // namespace

Input describe_input(const std::string& path, const std::optional<data::Format>& format) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    fail(ErrorKind::bad_file, "{}: cannot open: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) fail(ErrorKind::bad_file, "{}: not a regular file", path);
  return {path, format.value_or(data::format_of(path)), static_cast<uint64_t>(info.st_size),
          int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

std::vector<Part> cut_parts(const std::vector<Input>& inputs, uint64_t part_bytes) {
  std::vector<Part> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint64_t step = is_cut(inputs[i]) ? part_bytes : std::max<uint64_t>(inputs[i].bytes, 1);
    uint64_t at = 0;
    do {
      parts.push_back({i, at, std::min(at + step, inputs[i].bytes)});
      at += step;
    } while (at < inputs[i].bytes);
  }
  return parts;
}

uint64_t unpacked_bytes(const std::vector<Input>& inputs) {
  uint64_t bytes = 0;
  for (const Input& input : inputs) bytes += input.bytes * (is_packed(input.path) ? 4 : 1);
  return bytes;
}

std::unique_ptr<ReviewStream> open_part(const Input& input, const Part& part, const Fields& fields,
                                        bool count_lines) {
  if (!is_cut(input)) {
    return read_reviews(data::open_bytes(input.path), input.path, input.format, fields);
  }
  InputFile file(input.path);
  if (file.size() != input.bytes) {
    fail(ErrorKind::bad_file, "{}: changed from {} to {} bytes since the work was planned",
         input.path, input.bytes, file.size());
  }
  const uint64_t begin = line_begin(file, part.begin);
  const uint64_t end = std::max(begin, line_begin(file, part.end));
  std::string header;
  if (input.format == data::Format::tsv && begin > 0) header = header_of(file);
  int64_t lines = count_lines ? count_lines_before(file, begin) : 0;
  if (!header.empty()) lines = std::max<int64_t>(lines - 1, 0);
  return read_reviews(std::make_unique<RangeSource>(std::move(file), begin, end, std::move(header)),
                      input.path, input.format, fields, lines);
}

}  // namespace hone::prep

#include "data/image_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/image_processor.h"

namespace hone::data {
namespace {

constexpr uint64_t kMostSheetBytes = uint64_t{256} << 20;
constexpr uint64_t kMostLabelBytes = uint64_t{16} << 20;
constexpr int64_t kSide = 32;
constexpr int64_t kImageBytes = kSide * kSide * image::kChannels;
constexpr int kClasses = 10;
constexpr uint32_t kMostIdxSide = 1024;

/// Fills `out` as far as there are bytes; gives how many there were.
size_t read_some(ByteSource& source, char* out, size_t size) {
  size_t got = 0;
  while (got < size) {
    const size_t more = source.read(out + got, size - got);
    if (more == 0) break;
    got += more;
  }
  return got;
}

void check_label(int label, const std::string& where) {
  if (label >= 0 && label < kClasses) return;
  fail(ErrorKind::bad_file, "{}: label: expected 0 to {}, got {}", where, kClasses - 1, label);
}

void set_record(const image::Image& image, int label, int64_t number, Record& record) {
  record = {};
  record.text = raw_image(image);
  record.label = std::to_string(label);
  record.row = number;
}

/// A source whose numbers are read as IDX has them.
class IdxFile {
 public:
  IdxFile(std::unique_ptr<ByteSource> source, std::string name, uint32_t magic)
      : source_(std::move(source)), name_(std::move(name)) {
    if (const uint32_t got = number("magic"); got != magic) {
      fail(ErrorKind::bad_file, "{}: magic: expected {}, got {}", name_, magic, got);
    }
  }

  uint32_t number(const char* field) {
    std::array<char, 4> bytes = {};
    need(bytes.data(), bytes.size(), field);
    uint32_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  void need(char* out, size_t size, const std::string& what) {
    if (read_some(*source_, out, size) != size) {
      fail(ErrorKind::bad_file, "{}: truncated: no {}", name_, what);
    }
  }
  void need_end() {
    char byte = 0;
    if (source_->read(&byte, 1) != 0) {
      fail(ErrorKind::bad_file, "{}: more bytes than its header says", name_);
    }
  }
  const std::string& name() const { return name_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
};

class IdxRecords : public RecordStream {
 public:
  IdxRecords(IdxFile images, IdxFile labels)
      : images_(std::move(images)), labels_(std::move(labels)) {
    count_ = images_.number("number of images");
    rows_ = side("rows");
    columns_ = side("columns");
    if (const uint32_t labels_count = labels_.number("number of labels"); labels_count != count_) {
      fail(ErrorKind::bad_file, "{}: {} labels for the {} images of {}", labels_.name(),
           labels_count, count_, images_.name());
    }
    gray_.resize(size_t{rows_} * columns_);
  }

  bool next(Record& record) override {
    if (at_ == count_) {
      images_.need_end();
      labels_.need_end();
      return false;
    }
    ++at_;
    const std::string what = fmt::format("image {} of {}", at_, count_);
    images_.need(gray_.data(), gray_.size(), what);
    char label = 0;
    labels_.need(&label, 1, what);
    check_label(static_cast<uint8_t>(label), fmt::format("{}: image {}", labels_.name(), at_));
    image::Image image(columns_, rows_);
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<uint8_t>(gray_[i / image::kChannels]);
    }
    set_record(image, static_cast<uint8_t>(label), at_, record);
    return true;
  }
  bool waiting() override { return true; }
  std::string where(const Record& record) const override {
    return fmt::format("{}: image {}", images_.name(), record.row);
  }

 private:
  uint32_t side(const char* field) {
    const uint32_t value = images_.number(field);
    if (value < 1 || value > kMostIdxSide) {
      fail(ErrorKind::bad_file, "{}: {}: expected 1 to {}, got {}", images_.name(), field,
           kMostIdxSide, value);
    }
    return value;
  }

  IdxFile images_;
  IdxFile labels_;
  uint32_t count_ = 0;
  uint32_t rows_ = 0;
  uint32_t columns_ = 0;
  uint32_t at_ = 0;
  std::string gray_;
};

class CifarRecords : public RecordStream {
 public:
  CifarRecords(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}

  bool next(Record& record) override {
    std::array<char, 1 + kImageBytes> bytes = {};
    const size_t got = read_some(*source_, bytes.data(), bytes.size());
    if (got == 0) return false;
    ++row_;
    const std::string where = fmt::format("{}: image {}", name_, row_);
    if (got < bytes.size()) fail(ErrorKind::bad_file, "{}: truncated", where);
    const int label = static_cast<uint8_t>(bytes[0]);
    check_label(label, where);
    image::Image image(kSide, kSide);
    constexpr size_t kPlane = kSide * kSide;
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      const size_t plane = i % image::kChannels, pixel = i / image::kChannels;
      image.pixels[i] = static_cast<uint8_t>(bytes[1 + plane * kPlane + pixel]);
    }
    set_record(image, label, row_, record);
    return true;
  }
  bool waiting() override { return true; }
  std::string where(const Record& record) const override {
    return fmt::format("{}: image {}", name_, record.row);
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  int64_t row_ = 0;
};

/// The records of several streams, one behind the other; `row` counts within each.
class ChainedRecords : public RecordStream {
 public:
  explicit ChainedRecords(std::vector<std::unique_ptr<RecordStream>> parts)
      : parts_(std::move(parts)) {}

  bool next(Record& record) override {
    while (at_ < parts_.size() && !parts_[at_]->next(record)) ++at_;
    return at_ < parts_.size();
  }
  bool waiting() override { return true; }
  std::string where(const Record& record) const override {
    return parts_[std::min(at_, parts_.size() - 1)]->where(record);
  }

 private:
  std::vector<std::unique_ptr<RecordStream>> parts_;
  size_t at_ = 0;
};

class SheetRecords : public RecordStream {
 public:
  SheetRecords(std::vector<std::string> sheets, const std::string& labels)
      : sheets_(std::move(sheets)),
        labels_name_(labels),
        labels_(parse_sheet_labels(read_file(labels, kMostLabelBytes), labels)) {}

  bool next(Record& record) override {
    while (row_ == sheet_.height) {
      if (opened_ == sheets_.size()) return end();
      open(sheets_[opened_++]);
    }
    if (used_ == labels_.size()) {
      fail(ErrorKind::bad_file, "{}: {} labels, fewer than the sheets have images", labels_name_,
           labels_.size());
    }
    image::Image image(kSide, kSide);
    std::copy_n(sheet_.row(row_), kImageBytes, image.pixels.data());
    set_record(image, labels_[used_++], ++row_, record);
    return true;
  }
  bool waiting() override { return true; }
  std::string where(const Record& record) const override {
    return fmt::format("{}: row {}", sheets_[opened_ - 1], record.row);
  }

 private:
  void open(const std::string& file) {
    sheet_ = image::decode(read_file(file, kMostSheetBytes), file);
    if (sheet_.width != kSide * kSide) {
      fail(ErrorKind::bad_file, "{}: expected rows of {} pixels, got {}", file, kSide * kSide,
           sheet_.width);
    }
    row_ = 0;
  }
  bool end() const {
    if (used_ == labels_.size()) return false;
    fail(ErrorKind::bad_file, "{}: {} labels for {} images", labels_name_, labels_.size(), used_);
  }

  std::vector<std::string> sheets_;
  std::string labels_name_;
  std::vector<uint8_t> labels_;
  image::Image sheet_;
  size_t opened_ = 0;
  int64_t row_ = 0;
  size_t used_ = 0;
};

}  // namespace

std::unique_ptr<RecordStream> open_idx(std::unique_ptr<ByteSource> images, const std::string& name,
                                       std::unique_ptr<ByteSource> labels,
                                       const std::string& labels_name) {
  constexpr uint32_t kImageMagic = 0x803, kLabelMagic = 0x801;
  return std::make_unique<IdxRecords>(IdxFile(std::move(images), name, kImageMagic),
                                      IdxFile(std::move(labels), labels_name, kLabelMagic));
}

std::unique_ptr<RecordStream> open_cifar(std::unique_ptr<ByteSource> source,
                                         const std::string& name) {
  return std::make_unique<CifarRecords>(std::move(source), name);
}

std::unique_ptr<RecordStream> open_cifar(const std::vector<std::string>& files) {
  std::vector<std::unique_ptr<RecordStream>> parts;
  for (const std::string& file : files) parts.push_back(open_cifar(open_bytes(file), file));
  return std::make_unique<ChainedRecords>(std::move(parts));
}

std::unique_ptr<RecordStream> open_sheets(const std::vector<std::string>& sheets,
                                          const std::string& labels) {
  return std::make_unique<SheetRecords>(sheets, labels);
}

std::vector<uint8_t> parse_sheet_labels(std::string_view text, const std::string& name) {
  const Json json = parse_json(text, name);
  if (!json.is_array()) fail(ErrorKind::bad_file, "{}: expected a list of labels", name);
  std::vector<uint8_t> labels;
  labels.reserve(json.size());
  for (const Json& item : json) {
    const std::string where = fmt::format("{}: item {}", name, labels.size());
    if (!item.is_number_integer()) fail(ErrorKind::bad_file, "{}: expected a number", where);
    const auto label = item.get<int64_t>();
    check_label(static_cast<int>(std::clamp<int64_t>(label, -1, kClasses)), where);
    labels.push_back(static_cast<uint8_t>(label));
  }
  return labels;
}

}  // namespace hone::data

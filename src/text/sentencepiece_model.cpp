#include "text/sentencepiece_model.h"

#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"

namespace hone::text {
namespace {

/// Walks the fields of one protobuf message.
class Message {
 public:
  Message(std::string_view bytes, const std::string& file, const char* name)
      : rest_(bytes), file_(file), name_(name) {}

  /// Steps to the next field; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t tag = varint();
    number_ = tag >> 3;
    wire_ = static_cast<int>(tag & 7);
    if (number_ == 0 || number_ > 0x1FFFFFFF) fail_message("bad field number");
    switch (wire_) {
      case 0:
        value_ = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        fail_message("unsupported wire type");
    }
    return true;
  }

  uint64_t number() const { return number_; }
  std::string_view bytes() const {
    expect(2);
    return bytes_;
  }
  bool boolean() const { return integer() != 0; }
  int32_t integer() const {
    expect(0);
    return static_cast<int32_t>(static_cast<uint32_t>(value_));  // negative ones have 64 bits
  }
  float real() const {
    expect(5);
    uint32_t bits = 0;
    for (size_t i = 4; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes_[i]);
    return std::bit_cast<float>(bits);
  }
  Message message(const char* name) const { return Message(bytes(), file_, name); }

  [[noreturn]] void fail_message(std::string_view problem) const {
    fail(ErrorKind::bad_file, "{}: {}: {} in field {}, got wire type {}", file_, name_, problem,
         number_, wire_);
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= shift < 64 ? static_cast<uint64_t>(byte & 0x7F) << shift : 0;
      if (byte < 0x80) return value;
    }
    fail_message("broken number");
  }
  void take(uint64_t size) {
    if (size > rest_.size()) fail_message("more bytes than there are");
    bytes_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  void expect(int wire) const {
    if (wire_ != wire) fail_message("unexpected wire type");
  }

  std::string_view rest_;
  const std::string& file_;
  const char* name_;
  uint64_t number_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
  int wire_ = 0;
};

SentencePieceModel::Piece parse_piece(Message fields, size_t index, const std::string& file) {
  SentencePieceModel::Piece piece;
  int32_t type = static_cast<int32_t>(piece.type);
  while (fields.next()) {
    if (fields.number() == 1) piece.text = fields.bytes();
    if (fields.number() == 2) piece.score = fields.real();
    if (fields.number() == 3) type = fields.integer();
  }
  if (piece.text.empty() || !is_valid_utf8(piece.text)) {
    fail(ErrorKind::bad_file, "{}: pieces[{}].piece: must be UTF-8 and not empty, got {}", file,
         index, quote(piece.text));
  }
  if (!std::isfinite(piece.score)) {
    fail(ErrorKind::bad_file, "{}: pieces[{}].score: must be finite, got {}", file, index,
         piece.score);
  }
  if (type < 1 || type > 6) {
    fail(ErrorKind::bad_file, "{}: pieces[{}].type: must be 1 to 6, got {}", file, index, type);
  }
  piece.type = static_cast<SentencePieceModel::PieceType>(type);
  return piece;
}

void parse_trainer(Message fields, SentencePieceModel& model, const std::string& file) {
  while (fields.next()) {
    switch (fields.number()) {
      case 3: {
        const int32_t type = fields.integer();
        if (type < 1 || type > 4) {
          fail(ErrorKind::bad_file, "{}: trainer_spec.model_type: must be 1 to 4, got {}", file,
               type);
        }
        model.model_type = static_cast<SentencePieceModel::ModelType>(type);
        break;
      }
      case 24:
        model.treat_whitespace_as_suffix = fields.boolean();
        break;
      case 35:
        model.byte_fallback = fields.boolean();
        break;
      case 40:
        model.unk_id = fields.integer();
        break;
      case 41:
        model.bos_id = fields.integer();
        break;
      case 42:
        model.eos_id = fields.integer();
        break;
      case 43:
        model.pad_id = fields.integer();
        break;
      default:
        break;
    }
  }
}

void parse_normalizer(Message fields, SentencePieceModel& model) {
  while (fields.next()) {
    switch (fields.number()) {
      case 1:
        model.normalizer_name = fields.bytes();
        break;
      case 2:
        model.precompiled_charsmap = fields.bytes();
        break;
      case 3:
        model.add_dummy_prefix = fields.boolean();
        break;
      case 4:
        model.remove_extra_whitespaces = fields.boolean();
        break;
      case 5:
        model.escape_whitespaces = fields.boolean();
        break;
      default:
        break;
    }
  }
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& file) {
  SentencePieceModel model;
  Message fields(bytes, file, "SentencePiece model");
  while (fields.next()) {
    if (fields.number() == 1) {
      model.pieces.push_back(parse_piece(fields.message("pieces"), model.pieces.size(), file));
    }
    if (fields.number() == 2) parse_trainer(fields.message("trainer_spec"), model, file);
    if (fields.number() == 3) parse_normalizer(fields.message("normalizer_spec"), model);
  }
  if (model.pieces.empty()) {
    fail(ErrorKind::bad_file, "{}: pieces: none, so this is no SentencePiece model, got {} bytes",
         file, bytes.size());
  }
  return model;
}

SentencePieceModel read_sentencepiece_model(const std::string& path) {
  return parse_sentencepiece_model(read_file(path), path);
}

}  // namespace hone::text

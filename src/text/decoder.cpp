#include "text/decoder.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_level.h"

namespace hone::text {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// These apply in this order, each over the whole token.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kCleanup = {{
    {" .", "."},
    {" ?", "?"},
    {" !", "!"},
    {" ,", ","},
    {" ' ", "'"},
    {" n't", "n't"},
    {" 'm", "'m"},
    {" do not", " don't"},
    {" 's", "'s"},
    {" 've", "'ve"},
    {" 're", "'re"},
}};

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  std::string decode(const std::vector<std::string>& tokens) const override {
    std::string out;
    std::string piece;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool goes_on = i > 0 && tokens[i].starts_with(prefix_);
      piece = i > 0 && !goes_on ? " " : "";
      piece.append(tokens[i], goes_on ? prefix_.size() : 0);
      if (cleanup_) {
        for (const auto& [from, to] : kCleanup) replace_all(piece, from, to);
      }
      out += piece;
    }
    return out;
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class ByteLevelDecoder : public Decoder {
 public:
  std::string decode(const std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      const size_t before = bytes.size();
      for (size_t at = 0; at < token.size();) {
        const Utf8Char c = decode_utf8(token, at);
        const int byte = byte_level_byte(c.code);
        if (byte < 0) {  // a token of another alphabet stands for itself
          bytes.resize(before);
          bytes += token;
          break;
        }
        bytes += static_cast<char>(byte);
        at += c.size;
      }
    }
    return replace_invalid_utf8(bytes);
  }
};

class MetaspaceDecoder : public Decoder {
 public:
  MetaspaceDecoder(std::string replacement, bool prepended)
      : replacement_(std::move(replacement)), prepended_(prepended) {}

  std::string decode(const std::vector<std::string>& tokens) const override {
    std::string out;
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string piece = tokens[i];
      replace_all(piece, replacement_, i == 0 && prepended_ ? "" : " ");
      out += piece;
    }
    return out;
  }

 private:
  std::string replacement_;
  bool prepended_;
};

class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}

  std::string decode(const std::vector<std::string>& tokens) const override {
    std::string out;
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string piece = tokens[i];
      replace_all(piece, suffix_, i + 1 == tokens.size() ? "" : " ");
      out += piece;
    }
    return out;
  }

 private:
  std::string suffix_;
};

class UnknownDecoder : public Decoder {
 public:
  UnknownDecoder(std::string file, std::string type)
      : file_(std::move(file)), type_(std::move(type)) {}
  std::string decode(const std::vector<std::string>&) const override {
    fail(ErrorKind::unsupported, "{}: decoder.type: {} is not supported", file_, quote(type_));
  }

 private:
  std::string file_;
  std::string type_;
};

}  // namespace

std::unique_ptr<Decoder> wordpiece_decoder(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup);
}

std::unique_ptr<Decoder> byte_level_decoder() { return std::make_unique<ByteLevelDecoder>(); }

std::unique_ptr<Decoder> metaspace_decoder(std::string replacement, bool prepended) {
  return std::make_unique<MetaspaceDecoder>(std::move(replacement), prepended);
}

std::unique_ptr<Decoder> bpe_decoder(std::string suffix) {
  return std::make_unique<BpeDecoder>(std::move(suffix));
}

std::unique_ptr<Decoder> build_decoder(const Json& json, const std::string& file) {
  const auto named = [&](const char* field, std::string fallback) {
    const auto found = json.find(field);
    return found != json.end() && found->is_string() ? found->get<std::string>() : fallback;
  };
  const auto said = [&](const char* field) {
    const auto found = json.find(field);
    return found == json.end() || !found->is_boolean() || found->get<bool>();
  };
  if (!json.is_object()) return std::make_unique<UnknownDecoder>(file, "");
  const std::string type = named("type", "");
  if (type == "WordPiece") return wordpiece_decoder(named("prefix", "##"), said("cleanup"));
  if (type == "ByteLevel") return byte_level_decoder();
  const std::string replacement = named("replacement", "\u2581");
  if (type == "Metaspace" && !replacement.empty()) {
    return metaspace_decoder(
        replacement, named("prepend_scheme", "always") != "never" && said("add_prefix_space"));
  }
  const std::string suffix = named("suffix", "</w>");
  if (type == "BPEDecoder" && !suffix.empty()) return bpe_decoder(suffix);
  return std::make_unique<UnknownDecoder>(file, type);
}

}  // namespace hone::text

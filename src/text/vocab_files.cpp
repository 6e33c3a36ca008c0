#include "text/vocab_files.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "text/bpe.h"
#include "text/sentencepiece_model.h"
#include "text/special_tokens.h"
#include "text/unicode.h"
#include "text/unigram.h"
#include "text/wordpiece.h"
#include "text/words.h"

namespace hone::text {
namespace {

using Part = PostProcessor::Part;
using Vocab = std::vector<std::pair<std::string, int32_t>>;

PostProcessor::Special special_in(const Model& model, const std::string& token,
                                  const std::string& file) {
  const int32_t id = model.id_of(token);
  if (id < 0) {
    fail(ErrorKind::bad_file, "{}: special token {} is not in the vocabulary", file, quote(token));
  }
  return {id, token};
}

/// Makes [CLS] A [SEP] B [SEP]; `second` is the type of B, `doubled` whether there are two [SEP]s
/// between.
PostProcessor around(const PostProcessor::Special& cls, const PostProcessor::Special& sep,
                     int32_t second, bool doubled) {
  PostProcessor post;
  const auto special = [](const PostProcessor::Special& s, int32_t type_id) {
    return Part{Part::Kind::special, type_id, {s}};
  };
  post.single = {special(cls, 0), {Part::Kind::first, 0, {}}, special(sep, 0)};
  post.pair = post.single;
  if (doubled) post.pair.push_back(special(sep, 0));
  post.pair.push_back({Part::Kind::second, second, {}});
  post.pair.push_back(special(sep, second));
  return post;
}

Vocab read_lines(const std::string& path) {
  const std::string text = read_file(path);
  if (!is_valid_utf8(text)) fail(ErrorKind::bad_file, "{}: not valid UTF-8", path);
  Vocab vocab;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    // Python reads with universal newlines: \r\n and a lone \r end a line too.
    const size_t carriage = std::min(text.find('\r', at), end);
    vocab.emplace_back(text.substr(at, carriage - at), static_cast<int32_t>(vocab.size()));
    at = carriage < end ? carriage + 1 + (carriage + 1 == end) : end + 1;
  }
  // The last of equal lines counts, as in a dictionary.
  std::stable_sort(vocab.begin(), vocab.end());
  Vocab last;
  for (size_t i = 0; i < vocab.size(); ++i) {
    if (i + 1 == vocab.size() || vocab[i].first != vocab[i + 1].first) last.push_back(vocab[i]);
  }
  return last;
}

void build_bert(const std::string& folder, const JsonFields& config, SpecialTokens& tokens,
                TokenizerParts& parts) {
  parts.file = folder + "/vocab.txt";
  tokens.add_decoder();
  WordPieceOptions options;
  options.unk_token = tokens.add("unk_token", "[UNK]");
  const std::string sep = tokens.add("sep_token", "[SEP]");
  tokens.add("pad_token", "[PAD]");
  const std::string cls = tokens.add("cls_token", "[CLS]");
  tokens.add("mask_token", "[MASK]");
  const Vocab vocab = read_lines(parts.file);
  for (const auto& [token, id] : vocab) parts.model_id_end = std::max(parts.model_id_end, id + 1);
  parts.model = std::make_unique<WordPiece>(vocab, options, parts.file);
  BertNormalizer::Options normalizer;
  normalizer.lowercase = config.boolean("do_lower_case", true);
  normalizer.handle_chinese_chars = config.boolean("tokenize_chinese_chars", true);
  normalizer.strip_accents = config.boolean("strip_accents", normalizer.lowercase);
  parts.normalizer = std::make_unique<BertNormalizer>(normalizer);
  parts.pre_tokenizers.push_back(std::make_unique<BertPreTokenizer>());
  parts.decoder = wordpiece_decoder();
  parts.post = around(special_in(*parts.model, cls, parts.file),
                      special_in(*parts.model, sep, parts.file), 1, false);
}

Vocab read_vocab_json(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  const JsonFields fields(json, path);
  Vocab vocab;
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= std::numeric_limits<int32_t>::max()) {
      fields.fail_field(token.c_str(), "expected an id");
    }
    vocab.emplace_back(token, id.get<int32_t>());
  }
  return vocab;
}

std::vector<std::pair<std::string, std::string>> read_merges(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::pair<std::string, std::string>> merges;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
      fail(ErrorKind::bad_file, "{}: merge {} is not a pair, got {}", path, merges.size() + 1,
           quote(line));
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

void build_roberta(const std::string& folder, const JsonFields& config, SpecialTokens& tokens,
                   TokenizerParts& parts) {
  parts.file = folder + "/vocab.json";
  tokens.add_decoder();
  const std::string cls_default = tokens.add("bos_token", "<s>");
  tokens.add("eos_token", "</s>");
  const std::string sep = tokens.add("sep_token", "</s>");
  const std::string cls = tokens.add("cls_token", cls_default.c_str());
  tokens.add("unk_token", "<unk>");
  tokens.add("pad_token", "<pad>");
  tokens.add("mask_token", "<mask>");
  const Vocab vocab = read_vocab_json(parts.file);
  for (const auto& [token, id] : vocab) parts.model_id_end = std::max(parts.model_id_end, id + 1);
  parts.model =
      std::make_unique<Bpe>(vocab, read_merges(folder + "/merges.txt"), BpeOptions{}, parts.file);
  const bool add_prefix_space = config.boolean("add_prefix_space", false);
  parts.pre_tokenizers.push_back(std::make_unique<ByteLevelPreTokenizer>(add_prefix_space, true));
  parts.decoder = byte_level_decoder();
  parts.post = around(special_in(*parts.model, cls, parts.file),
                      special_in(*parts.model, sep, parts.file), 0, true);
  parts.post.trim_offsets = config.boolean("trim_offsets", true);
  parts.post.add_prefix_space = add_prefix_space;
}

/// Control and user-defined pieces are found in the text itself.
void add_pieces(const SentencePieceModel& model, SpecialTokens& tokens) {
  using Type = SentencePieceModel::PieceType;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type != Type::control && piece.type != Type::user_defined) continue;
    tokens.add(AddedToken{piece.text, false, false, false, false, piece.type == Type::control});
  }
}

SentencePieceModel read_unigram(const std::string& path) {
  SentencePieceModel model = read_sentencepiece_model(path);
  if (model.model_type != SentencePieceModel::ModelType::unigram) {
    fail(ErrorKind::unsupported, "{}: model_type: only unigram models are supported, got {}", path,
         static_cast<int>(model.model_type));
  }
  return model;
}

void set_unigram(std::vector<std::pair<std::string, double>> pieces, int32_t unk_id,
                 bool add_prefix_space, TokenizerParts& parts) {
  if (static_cast<size_t>(unk_id) >= pieces.size()) {
    fail(ErrorKind::bad_file, "{}: only {} pieces", parts.file, pieces.size());
  }
  parts.model_id_end = static_cast<int32_t>(pieces.size());
  parts.model = std::make_unique<Unigram>(std::move(pieces), unk_id, false, parts.file);
  parts.spelled_as_text = unk_id;
  parts.pre_tokenizers.push_back(std::make_unique<ClassSplit>(kWhitespace, SplitBehavior::removed));
  Metaspace metaspace;
  metaspace.prepend = add_prefix_space ? Metaspace::Prepend::always : Metaspace::Prepend::never;
  parts.pre_tokenizers.push_back(std::make_unique<MetaspacePreTokenizer>(metaspace));
  parts.decoder = metaspace_decoder(metaspace.replacement, add_prefix_space);
}

void build_albert(const std::string& path, const JsonFields& config, SpecialTokens& tokens,
                  TokenizerParts& parts) {
  parts.file = path;
  const SentencePieceModel model = read_unigram(path);
  tokens.add_decoder();
  tokens.add("bos_token", "[CLS]");
  tokens.add("eos_token", "[SEP]");
  tokens.add("unk_token", "<unk>");
  const std::string sep = tokens.add("sep_token", "[SEP]");
  tokens.add("pad_token", "<pad>");
  const std::string cls = tokens.add("cls_token", "[CLS]");
  tokens.add("mask_token", "[MASK]");
  add_pieces(model, tokens);
  std::vector<std::unique_ptr<Normalizer>> steps;
  steps.push_back(std::make_unique<Replace>(Pattern::string("``"), "\""));
  steps.push_back(std::make_unique<Replace>(Pattern::string("''"), "\""));
  if (!config.boolean("keep_accents", false)) {
    steps.push_back(std::make_unique<UnicodeNormalizer>(true, false));
    steps.push_back(std::make_unique<Filter>(kMark, 0));
  }
  if (config.boolean("do_lower_case", true)) steps.push_back(std::make_unique<Lowercase>());
  if (!model.precompiled_charsmap.empty()) {
    steps.push_back(std::make_unique<Precompiled>(CharsMap(model.precompiled_charsmap, path)));
  }
  parts.normalizer = std::make_unique<NormalizerSequence>(std::move(steps));
  std::vector<std::pair<std::string, double>> pieces;
  for (const auto& piece : model.pieces) pieces.emplace_back(piece.text, piece.score);
  set_unigram(std::move(pieces), 1, config.boolean("add_prefix_space", true), parts);
  parts.post =
      around(special_in(*parts.model, cls, path), special_in(*parts.model, sep, path), 1, false);
}

void build_xlm_roberta(const std::string& path, const JsonFields& config, SpecialTokens& tokens,
                       TokenizerParts& parts) {
  parts.file = path;
  const SentencePieceModel model = read_unigram(path);
  tokens.add_decoder();
  const std::string bos = tokens.add("bos_token", "<s>");
  const std::string eos = tokens.add("eos_token", "</s>");
  tokens.add("sep_token", "</s>");
  tokens.add("cls_token", "<s>");
  const std::string unk = tokens.add("unk_token", "<unk>");
  const std::string pad = tokens.add("pad_token", "<pad>");
  const std::string mask = tokens.add("mask_token", "<mask>");
  add_pieces(model, tokens);
  if (!model.precompiled_charsmap.empty()) {
    parts.normalizer = std::make_unique<Precompiled>(CharsMap(model.precompiled_charsmap, path));
  }
  // fairseq's order: four special tokens of its own, then the pieces after SentencePiece's three.
  std::vector<std::pair<std::string, double>> pieces{{bos, 0}, {pad, 0}, {eos, 0}, {unk, 0}};
  for (size_t i = 3; i < model.pieces.size(); ++i) {
    pieces.emplace_back(model.pieces[i].text, model.pieces[i].score);
  }
  pieces.emplace_back(mask, 0);
  set_unigram(std::move(pieces), 3, config.boolean("add_prefix_space", true), parts);
  parts.post =
      around(special_in(*parts.model, bos, path), special_in(*parts.model, eos, path), 0, true);
}

}  // namespace

TokenizerParts build_from_vocab_files(const std::string& folder, std::string_view family,
                                      const Json& config) {
  const std::string words_file = folder + "/" + kVocabularyFile;
  if (family == "lstm" || (family.empty() && file_exists(words_file))) {
    return build_word_tokenizer(read_file(words_file), words_file);
  }
  const JsonFields fields(config, folder + "/tokenizer_config.json");
  SpecialTokens tokens(config, fields.file());
  TokenizerParts parts;
  const auto there = [&](const char* name) { return file_exists(folder + "/" + name); };
  const bool guess = family.empty();
  const bool words = family == "bert" || family == "distilbert" || family == "electra";
  if ((guess || words) && there("vocab.txt")) {
    build_bert(folder, fields, tokens, parts);
  } else if ((guess || family == "roberta") && there("vocab.json") && there("merges.txt")) {
    build_roberta(folder, fields, tokens, parts);
  } else if ((guess || family == "xlm-roberta") && there("sentencepiece.bpe.model")) {
    build_xlm_roberta(folder + "/sentencepiece.bpe.model", fields, tokens, parts);
  } else if ((guess || family == "albert") && there("spiece.model")) {
    build_albert(folder + "/spiece.model", fields, tokens, parts);
  } else {
    fail(ErrorKind::bad_file, "{}: no tokenizer.json and no vocabulary of the {} family", folder,
         guess ? "bert, roberta, xlm-roberta or albert" : family);
  }
  parts.added = tokens.take();
  return parts;
}

}  // namespace hone::text

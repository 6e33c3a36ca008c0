#include "text/tokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/text_encoder.h"

namespace hone::text {
namespace {

constexpr size_t kMaxText = std::numeric_limits<int32_t>::max() / 4;

bool is_ascii(std::string_view text) {
  unsigned char seen = 0;
  for (const char c : text) seen |= static_cast<unsigned char>(c);
  return seen < 0x80;
}

/// Counts code points up to a byte, for offsets that mostly rise.
class CodePointCounter {
 public:
  explicit CodePointCounter(std::string_view text) : text_(text) {}
  uint32_t operator()(uint32_t byte) {
    const size_t target = std::min<size_t>(byte, text_.size());
    for (; at_ < target; ++at_) code_ += starts(at_);
    for (; at_ > target; --at_) code_ -= starts(at_ - 1);
    return code_;
  }

 private:
  uint32_t starts(size_t at) const {
    return (static_cast<unsigned char>(text_[at]) & 0xC0) != 0x80;
  }
  std::string_view text_;
  size_t at_ = 0;
  uint32_t code_ = 0;
};

void count_code_points_of(std::string_view text, std::vector<Span>& offsets) {
  CodePointCounter count(text);
  for (Span& span : offsets) {
    if (span.begin >= text.size()) continue;  // `tokenizers` leaves these in bytes
    span = {count(span.begin), count(span.end)};
  }
}

}  // namespace

struct Tokenizer::State {
  explicit State(TokenizerParts parts);
  void trim(TokenList& list) const;
  EdgeSpace space_of(int32_t id) const;

  /// Counts the spaces at the ends of a token as the vocabulary spells it; kMany: the token has to
  /// be asked.
  struct Edges {
    uint8_t leading = 0;
    uint8_t trailing = 0;
  };
  static constexpr uint8_t kMany = 255;

  TextEncoder encoder;
  std::vector<Edges> edges;  ///< by id; empty where offsets are not trimmed
  /// Workspaces wait here between calls that bring none: their caches stay warm.
  mutable std::mutex idle_mutex;
  mutable std::vector<Workspace> idle;
};

Tokenizer::State::State(TokenizerParts parts) : encoder(std::move(parts)) {
  if (!encoder.parts().post.trim_offsets) return;
  const Model& model = *encoder.parts().model;
  edges.resize(static_cast<size_t>(encoder.parts().model_id_end));
  for (size_t id = 0; id < edges.size(); ++id) {
    const EdgeSpace space = edge_space(model.token_of(static_cast<int32_t>(id)));
    edges[id] = {static_cast<uint8_t>(std::min<uint32_t>(space.leading, kMany)),
                 static_cast<uint8_t>(std::min<uint32_t>(space.trailing, kMany))};
  }
}

EdgeSpace Tokenizer::State::space_of(int32_t id) const {
  if (static_cast<size_t>(id) >= edges.size()) return edge_space(encoder.added().token_of(id));
  const Edges edge = edges[static_cast<size_t>(id)];
  if (edge.leading != kMany && edge.trailing != kMany) return {edge.leading, edge.trailing};
  return edge_space(encoder.parts().model->token_of(id));
}

struct Tokenizer::Workspace::Memory {
  struct Side {
    TokenList list;
    std::string replaced;  ///< the text with U+FFFD for what is not UTF-8
    std::string_view text;
    bool ascii = true;
  };
  TextEncoder::Memory encoder;
  Side first;
  Side second;

  void encode(const TextEncoder& text_encoder, std::string_view input, Side& side) {
    if (input.size() > kMaxText) {
      fail(ErrorKind::usage, "text: {} bytes, more than the limit of {}", input.size(), kMaxText);
    }
    side.text = input;
    side.ascii = is_ascii(input);
    if (!side.ascii && !is_valid_utf8(input)) {
      side.replaced = replace_invalid_utf8(input);
      side.text = side.replaced;
    }
    text_encoder.encode(side.text, encoder, side.list);
  }
};

Tokenizer::Workspace::Workspace(const Tokenizer& tokenizer) : memory_(std::make_unique<Memory>()) {
  memory_->encoder = tokenizer.state_->encoder.make_memory();
}
Tokenizer::Workspace::Workspace(Workspace&&) noexcept = default;
Tokenizer::Workspace& Tokenizer::Workspace::operator=(Workspace&&) noexcept = default;
Tokenizer::Workspace::~Workspace() = default;

Tokenizer::Tokenizer(TokenizerParts parts) {
  for (auto* templates : {&parts.post.single, &parts.post.pair}) {
    for (PostProcessor::Part& part : *templates) {
      for (PostProcessor::Special& special : part.specials) {
        if (special.token == parts.model->token_of(special.id)) special.token.clear();
      }
    }
  }
  state_ = std::make_unique<const State>(std::move(parts));
}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

void Tokenizer::State::trim(TokenList& list) const {
  const PostProcessor& post = encoder.parts().post;
  size_t odd = 0;
  for (size_t i = 0; i < list.ids.size(); ++i) {
    const bool is_odd = odd < list.odd.size() && list.odd[odd].first == i;
    const EdgeSpace space = is_odd ? edge_space(list.odd[odd++].second) : space_of(list.ids[i]);
    if (space.leading == 0 && space.trailing == 0) continue;
    trim_offsets(space, i == 0, post.add_prefix_space, list.offsets[i].begin, list.offsets[i].end);
  }
}

void Tokenizer::encode(const TextInput& input, const EncodeOptions& options, Workspace& workspace,
                       Encoding& out) const {
  const TextEncoder& encoder = state_->encoder;
  const PostProcessor& post = encoder.parts().post;
  Workspace::Memory& memory = *workspace.memory_;
  memory.encode(encoder, input.text, memory.first);
  if (input.pair) memory.encode(encoder, *input.pair, memory.second);
  TokenList* second = input.pair ? &memory.second.list : nullptr;
  const size_t specials = options.add_special_tokens ? post.added(input.pair.has_value()) : 0;
  out.untruncated = specials + memory.first.list.ids.size() + (second ? second->ids.size() : 0);
  if (options.truncation) {
    if (options.truncation->max_length < specials) {
      fail(ErrorKind::usage, "max_length: {}, but {} special tokens are added",
           options.truncation->max_length, specials);
    }
    truncate(*options.truncation, options.truncation->max_length - specials, memory.first.list,
             second);
  }
  if (!memory.first.ascii) count_code_points_of(memory.first.text, memory.first.list.offsets);
  if (second && !memory.second.ascii) count_code_points_of(memory.second.text, second->offsets);
  if (post.trim_offsets) {
    state_->trim(memory.first.list);
    if (second) state_->trim(*second);
  }
  post.process(memory.first.list, second, options.add_special_tokens, out);
}

Tokenizer::Workspace Tokenizer::take_workspace() const {
  const std::lock_guard lock(state_->idle_mutex);
  if (state_->idle.empty()) return Workspace(*this);
  Workspace workspace = std::move(state_->idle.back());
  state_->idle.pop_back();
  return workspace;
}

void Tokenizer::return_workspace(Workspace workspace) const {
  const std::lock_guard lock(state_->idle_mutex);
  state_->idle.push_back(std::move(workspace));
}

Encoding Tokenizer::encode(const TextInput& input, const EncodeOptions& options) const {
  Workspace workspace = take_workspace();
  Encoding out;
  encode(input, options, workspace, out);
  return_workspace(std::move(workspace));
  return out;
}

void Tokenizer::in_parts(size_t count, ThreadPool& pool, EncodePart encode_part) const {
  // A few tasks a worker, because texts differ in length.
  constexpr size_t kTasksPerWorker = 8;
  const size_t tasks = std::min(count, static_cast<size_t>(pool.size()) * kTasksPerWorker);
  pool.run(static_cast<int64_t>(tasks), [&](int64_t number, int) {
    const auto task = static_cast<size_t>(number);
    Workspace workspace = take_workspace();
    encode_part(task * count / tasks, (task + 1) * count / tasks, workspace);
    return_workspace(std::move(workspace));
  });
}

void Tokenizer::encode_batch(std::span<const TextInput> inputs, const EncodeOptions& options,
                             ThreadPool& pool, std::vector<Encoding>& out) const {
  out.resize(inputs.size());
  in_parts(inputs.size(), pool, [&](size_t first, size_t last, Workspace& workspace) {
    for (size_t i = first; i < last; ++i) encode(inputs[i], options, workspace, out[i]);
  });
}

void Tokenizer::encode_each(std::span<const TextInput> inputs, const EncodeOptions& options,
                            ThreadPool& pool, TakeEncoding take) const {
  in_parts(inputs.size(), pool, [&](size_t first, size_t last, Workspace& workspace) {
    Encoding encoding;
    for (size_t i = first; i < last; ++i) {
      encode(inputs[i], options, workspace, encoding);
      take(i, encoding);
    }
  });
}

std::string Tokenizer::token(const Encoding& encoding, size_t i) const {
  for (const auto& [place, token] : encoding.odd) {
    if (place == i) return token;
  }
  return std::string(token_of(encoding.ids.at(i)));
}

std::string_view Tokenizer::token_of(int32_t id) const {
  const std::string_view added = state_->encoder.added().token_of(id);
  return added.empty() ? state_->encoder.parts().model->token_of(id) : added;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    const std::string_view token = token_of(id);
    const bool special = skip_special_tokens && state_->encoder.added().is_special(id);
    if (!token.empty() && !special) tokens.emplace_back(token);
  }
  if (const auto& decoder = state_->encoder.parts().decoder) return decoder->decode(tokens);
  return fmt::format("{}", fmt::join(tokens, " "));
}

int32_t Tokenizer::id_of(std::string_view token) const {
  const int32_t added = state_->encoder.added().id_of(token);
  return added >= 0 ? added : state_->encoder.parts().model->id_of(token);
}

int32_t Tokenizer::id_end() const {
  return std::max(state_->encoder.parts().model_id_end, state_->encoder.added().id_end());
}

size_t Tokenizer::special_tokens(bool is_pair) const {
  return state_->encoder.parts().post.added(is_pair);
}

const std::optional<Truncation>& Tokenizer::truncation() const {
  return state_->encoder.parts().truncation;
}

std::optional<int64_t> Tokenizer::model_max_length() const {
  return state_->encoder.parts().model_max_length;
}

}  // namespace hone::text

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infer/session.h"
#include "serve/json_reader.h"

namespace hone::serve {

/// Holds the texts of a request, which its inputs point into, until it is answered.
class TextStore {
 public:
  /// `expected`: bytes of all texts together, where that is known.
  explicit TextStore(size_t expected = 0) : expected_(expected) {}
  std::string_view keep(std::string_view text, std::string_view prefix = {});

 private:
  size_t expected_;
  std::vector<std::string> blocks_;
};

/// What a request asks a model to compute.
struct Work {
  std::vector<infer::Input> inputs = {};
  std::vector<std::vector<int32_t>> ids = {};  ///< stand in place of inputs
  std::shared_ptr<TextStore> texts = {};
  int64_t characters = 0;             ///< code points of all texts; of ids their number
  std::optional<bool> truncate = {};  ///< absent: what the server does by default
  bool truncate_left = false;
  bool single = false;  ///< one input that was not in a list: "method" of te_request_count

  size_t size() const { return inputs.size() + ids.size(); }
};

/// Reads the inputs of one request.
class WorkReader {
 public:
  /// `most` inputs are taken; one more is a RequestError (batch_size).
  WorkReader(size_t body_bytes, size_t most);

  /// What is put before every text that follows; pairs have it before the first one.
  void set_prompt(std::string prompt) { prompt_ = std::move(prompt); }
  /// Lets texts be empty from here on.
  void allow_empty() { empty_allowed_ = true; }

  /// An empty text, or a pair of two, is a RequestError (empty) that names `path`.
  void add(std::string_view text, std::string_view path);
  void add_pair(std::string_view first, std::string_view second, std::string_view path);
  void add_ids(std::vector<int32_t> ids, std::string_view path);
  /// A string, or a list of strings.
  void add_texts(const JsonValue& value, std::string_view path);
  /// Adds texts or token ids: a list of ids is one input, in a list of lists it is one of them.
  void add_texts_or_ids(const JsonValue& value, std::string_view path);

  /// "truncate" and "truncation_direction".
  void read_truncation(const RequestFields& fields);
  /// Whether it is one input that was not in a list.
  void set_single(bool single) { work_.single = single; }
  /// Texts together with ids are an error, and so is nothing at all; `path` names the inputs.
  Work take(std::string_view path);

 private:
  void check_room() const;
  void check_empty(bool empty, std::string_view path) const;

  Work work_;
  size_t most_;
  std::string prompt_;
  bool empty_allowed_ = false;
};

}  // namespace hone::serve

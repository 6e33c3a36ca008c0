#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/error.h"

/// hone's C++ interface: load a model folder, ask it for labels, vectors or token ids.
/// Everything that goes wrong is thrown as hone::Error.
namespace hone {

/// A text, or a pair of texts that are judged together. UTF-8; what is not is read as U+FFFD.
struct Text {
  Text(std::string text_in) : text(std::move(text_in)) {}
  Text(const char* text_in) : text(text_in) {}
  Text(std::string text_in, std::string pair_in)
      : text(std::move(text_in)), pair(std::move(pair_in)) {}

  std::string text;
  std::optional<std::string> pair;
};

/// What a model is loaded for; weights that the use does not need are not loaded.
enum class Use {
  automatic,  ///< predict where the folder has a classification head, else embed
  predict,
  embed,
};

struct ModelOptions {
  Use use = Use::automatic;
  std::string dtype;  ///< fp32, bf16, int8, or fp8 on a GPU; empty: int8 where the folder is stored
                      ///< so, else fp32
  int threads = 0;    ///< 0: the cores that the process may use
  int64_t max_length = 0;  ///< tokens of a text, special ones included; 0: what the folder says
  bool time_ops = false;   ///< measure what times() reports
};

struct Prediction {
  std::string label;                ///< the best class; of regression the one label's name
  float score = 0;                  ///< its probability; of regression the value itself
  std::vector<float> scores;        ///< by class, in the order of Model::labels()
  std::vector<std::string> chosen;  ///< of a multi-label model: all classes of at least 0.5
  int64_t tokens = 0;               ///< that the model read
  bool truncated = false;           ///< whether the text had more
};

struct Tokens {
  std::vector<int32_t> ids;
  std::vector<std::string> tokens;
  /// Code points of the text that each token comes from: begin, end.
  std::vector<std::pair<uint32_t, uint32_t>> offsets;
  std::vector<int32_t> type_ids;
};

/// Where time went: loading, tokenising, and every op of the forward passes.
struct TimeSpent {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  double gflops = 0;  ///< a second; 0 where it is not counted
};

/// A model and its tokenizer, ready to answer. One call at a time; each uses all threads.
class Model {
 public:
  /// `model` is a Hugging Face or sentence-transformers folder, or a name in the local cache.
  static Model load(const std::string& model, const ModelOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// Answers come in the order of the texts; a text's answer is the same in any company.
  std::vector<Prediction> predict(const std::vector<Text>& texts);
  /// One vector a text, pooled and normalised as the folder says, else the mean of its tokens.
  std::vector<std::vector<float>> embed(const std::vector<Text>& texts);
  /// Nothing is cut.
  Tokens tokenize(const Text& text) const;

  const std::vector<std::string>& labels() const;  ///< names of the classes
  std::vector<TimeSpent> times() const;

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone

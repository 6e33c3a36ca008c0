#pragma once

#include <optional>

#include "data/text_batch.h"
#include "models/model.h"
#include "nn/linear.h"
#include "nn/lstm.h"

namespace hone::models {

/// An LSTM over words: embedding, layers, the state at the last word, a dense layer with ReLU, and
/// the answer. The defaults are those of the reference model.
struct LstmConfig : ModelConfig {
  int64_t vocab_size = 10002;  ///< words, the padding and the unknown word
  int64_t max_length = 100;
  int64_t embedding_size = 100;
  int64_t hidden_size = 32;
  int64_t layers = 2;
  float dropout = 0.5f;  ///< falls between layers, and before the dense one
  /// Where true, a text is filled up with padding words to its full length, which run too, and the
  /// last step is that of the row; otherwise it is that of the text.
  bool padded_rows = false;
  int64_t pad_id = 0;

  data::TextLimits limits() const;
  /// Gives the outputs of the last layer: one for two labels, of which it is the second's logit.
  int64_t outputs() const { return is_binary() ? 1 : static_cast<int64_t>(labels.size()); }
  bool is_binary() const { return problem == ProblemType::single_label && labels.size() == 2; }

  std::unique_ptr<ModelConfig> clone() const override {
    return std::make_unique<LstmConfig>(*this);
  }
  std::string summary() const override;
  std::vector<std::pair<std::string, int64_t>> facts() const override {
    return {{"layers", layers}, {"hidden_size", hidden_size}};
  }
  int64_t depth() const override { return layers; }
  int64_t max_units() const override { return max_length; }
};

class LstmModel : public Model {
 public:
  LstmModel(const LstmConfig& config, const MakeOptions& options);

  const LstmConfig& config() const override { return config_; }
  bool has_head() const override { return head_.has_value(); }
  /// Gives what torch's modules start with.
  std::optional<Initial> initial(const nn::Parameter& parameter) const override;

  const data::BatchLayout& layout() const override { return *data::text_layout(); }
  Pass record(const OutputOptions& request) const override;
  Pass record(const TrainingRequest& request) const override;

 private:
  struct Head {
    nn::Linear dense;
    nn::Linear out;
  };
  void begin(Pass& pass, bool pads_sequences) const;
  Value hidden(Tape& tape, const Pass& pass, DType dtype) const;
  Value logits(Tape& tape, const Pass& pass, Value hidden) const;

  LstmConfig config_;
  Weight embedding_;
  nn::Lstm lstm_;
  std::optional<Head> head_;
};

/// Gives the family "lstm", for models/family.cpp.
Family lstm_family();

}  // namespace hone::models

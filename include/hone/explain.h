#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hone/error.h"
#include "hone/hone.h"

/// Why a text gets its label, as `hone explain` says it.
namespace hone {

/// Says where the reasons of an answer come from.
enum class Reasons {
  automatic,  ///< the model's own where it was trained to explain itself, else gradients
  own,        ///< what a self-explaining model added up to its answer
  gradients,  ///< integrated gradients, of any classifier of the encoders
};

/// Says how a model is loaded to be explained. It runs on the processor.
struct ExplainerOptions {
  std::string dtype = "fp32";  ///< "fp32"; "bf16", which is faster and less exact
  int threads = 0;             ///< 0: the cores that the process may use
  int64_t max_length = 0;      ///< tokens of a text, special ones included; 0: what the folder says
};

/// Says what is told of texts.
struct ExplainOptions {
  Reasons reasons = Reasons::automatic;
  int64_t steps = 50;     ///< points of the path of gradients; more are more exact
  int64_t ablate = 0;     ///< own: phrases without which a text is answered again, the best first
  int64_t concepts = -1;  ///< own: most concepts of a text; -1: all that were looked up
};

/// An answer with its reasons. What a way of explaining does not give is empty.
struct Explanation {
  /// A part of the text. Of gradients a word; of own reasons a constituent of two words or more.
  struct Phrase {
    std::string text;
    int64_t start = 0;  ///< code points of the whole text; `end` is behind the last
    int64_t end = 0;
    double share = 0;  ///< what it gave to the answer's logit; below 0 it speaks against the answer
    std::optional<double> ablated_score;  ///< the answer's score without this phrase
    std::optional<bool> flips;            ///< whether the answer is then another one
  };
  /// A phrase of the training set that was looked up for the text.
  struct Concept {
    std::string text;
    double share = 0;
    double similarity = 0;
    std::vector<std::pair<std::string, int64_t>> labels;  ///< how often it stood in rows of each
    int64_t row = 0;                                      ///< a training row that it comes from
  };
  /// Parts of the answer's logit, which add up to it.
  struct Shares {
    double label = 0;   ///< what the classifier's own head gave
    double local = 0;   ///< what the phrases gave
    double global = 0;  ///< what the concepts gave
  };

  Prediction answer;
  std::vector<Phrase> phrases;  ///< the largest share comes first
  std::vector<Concept> concepts;
  std::optional<Shares> shares;
  std::string tree;              ///< the model's tree: brackets over the text's words
  std::vector<std::string> cut;  ///< what did not fit into the model
};

/// A model and its tokenizer, ready to explain. Any number of threads may call it; they take turns.
class Explainer {
 public:
  /// `model` is a classifier's folder, or a name in the local cache.
  static Explainer load(const std::string& model, const ExplainerOptions& options = {});
  Explainer(Explainer&&) noexcept;
  Explainer& operator=(Explainer&&) noexcept;
  ~Explainer();

  /// Explains each text, in order. An explanation has the same bits in any company. Other reasons
  /// than those of the first call may load the model once more.
  std::vector<Explanation> explain(const std::vector<std::string>& texts,
                                   const ExplainOptions& options = {}) const;

  const std::vector<std::string>& labels() const;  ///< names of the classes
  bool explains_itself() const;                    ///< whether the model has reasons of its own

 private:
  struct State;
  explicit Explainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone

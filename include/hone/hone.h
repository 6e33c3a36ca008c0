#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/error.h"
#include "hone/image.h"
#include "hone/text.h"

/// hone's C++ interface: load a model folder, ask it for labels, vectors or token ids of texts, or
/// for labels and vectors of images. Further headers explain (explain.h), train (train.h), score
/// (evaluate.h), tokenise without a model (tokenizer.h) and list devices (device.h). Everything
/// that goes wrong is thrown as hone::Error.
namespace hone {

/// Says what a model is loaded for; weights that the use does not need are not loaded.
enum class Use {
  automatic,  ///< predict where the folder has a classification head, else embed
  predict,
  embed,
};

/// Says how a vector is made of the vectors of a text's tokens.
enum class Pooling {
  automatic,  ///< what a sentence-transformers folder says, else mean
  mean,
  cls,  ///< the first token's
  max,
};

struct ModelOptions {
  Use use = Use::automatic;
  /// "cpu"; "cuda" or "cuda:1" for a GPU, which must be there; "auto" for a GPU where there is one
  /// that can run the model, else the processor. int8 and a memory budget are the processor's.
  std::string device = "cpu";
  /// "fp32"; "bf16"; "int8"; "fp8" on a GPU of compute capability 9.0 or more. Empty: int8 where
  /// the folder is stored so, else fp32.
  std::string dtype;
  int threads = 0;         ///< 0: the cores that the process may use
  int64_t max_length = 0;  ///< tokens of a text, special ones included; 0: what the folder says
  /// The most bytes that the process may have resident; weights are then read while they are
  /// needed. 0: no limit. A budget that is too small is an error that names the least that will do.
  uint64_t memory_budget = 0;
  /// Names a file with a GPU's fastest way to compute each product. Where it is not there, or is
  /// another device's, they are looked for while the model runs, and written when it is destroyed.
  /// Empty: nothing is looked for. Models with one file give the same bits.
  std::string tuning;
  bool time_ops = false;  ///< measure what times() reports

  Pooling pooling = Pooling::automatic;  ///< how embed() makes one vector of a text
  /// Says whether embed() scales vectors to length 1. Absent: what a sentence-transformers folder
  /// says, else they are not.
  std::optional<bool> normalize;

  /// Says whether a text may leave before the last layer of a model that was trained with early
  /// exits. The settings that follow are such a model's alone, and an error for others.
  bool exits = true;
  /// Layers in a row that have to agree, in place of what the folder says (PABEE).
  std::optional<int64_t> patience;
  /// A text leaves below this entropy, in nats, in place of what the folder says (DeeBERT).
  std::optional<double> entropy;
  /// Seconds that a text may take, from its turn on: it leaves at the last layer that is in time.
  /// 0: no limit. Texts are then answered one by one.
  double deadline = 0;

  /// The most pixels of an image. A larger one is an error, before memory is taken for it. The
  /// default is the number from which Pillow warns of a decompression bomb.
  int64_t max_image_pixels = 89'478'485;
};

struct Prediction {
  std::string label;                ///< the best class; the one label's name for regression
  float score = 0;                  ///< its probability; the value itself for regression
  std::vector<float> scores;        ///< by class, in the order of Model::labels()
  std::vector<std::string> chosen;  ///< all classes of at least 0.5, for a multi-label model
  int64_t tokens = 0;               ///< tokens that the model read; of an image, pixels
  bool truncated = false;           ///< whether the text had more tokens
  int64_t layers = 0;               ///< layers that the answer took in a model with exits; else 0
  int64_t width = 0;                ///< width of an image as it was given, like height; else 0
  int64_t height = 0;
};

/// Says where time went: loading, tokenising, and every op of the forward passes.
struct TimeSpent {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  double gflops = 0;  ///< a second; 0 where it is not counted
};

/// Answers that are on their way, from Model::start_predict() or start_embed(). It may be dropped,
/// and outlive its model.
template <typename Answers>
class Pending {
 public:
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();

  /// Waits for the answers; they are given once. Throws what went wrong with them, or that the
  /// model was destroyed before it came to them.
  Answers get();
  /// Says whether get() would return at once.
  bool ready() const;

 private:
  friend class Model;
  struct State;
  explicit Pending(State state);
  std::unique_ptr<State> state_;
};

using Predictions = std::vector<Prediction>;
using Embeddings = std::vector<std::vector<float>>;

/// A model and its tokenizer, ready to answer. Any number of threads may call its functions at one
/// time. What they ask for at one time is computed together, by all threads that the model was
/// loaded with; a call with many texts lets those of others in between.
class Model {
 public:
  /// `model` is a Hugging Face or sentence-transformers folder, or a name in the local cache.
  static Model load(const std::string& model, const ModelOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();  ///< does not wait for what was started

  /// Answers come in the order of the texts. On a processor a text's answer has the same bits in
  /// any company; on a GPU the last bits may depend on it.
  Predictions predict(const std::vector<Text>& texts) const;
  /// Gives one vector a text.
  Embeddings embed(const std::vector<Text>& texts) const;
  /// Starts predict() or embed() and returns at once, so that the caller can do something else
  /// until it needs the answers.
  Pending<Predictions> start_predict(std::vector<Text> texts) const;
  Pending<Embeddings> start_embed(std::vector<Text> texts) const;
  /// These are predict() and embed() of a model of images. They read and resize as transformers
  /// does. A file that cannot be read is an error that names it, and then nothing is answered.
  Predictions predict_images(const std::vector<Image>& images) const;
  Embeddings embed_images(const std::vector<Image>& images) const;
  /// Gives the tokens of a text, of which nothing is cut.
  Tokens tokenize(const Text& text) const;

  const std::vector<std::string>& labels() const;  ///< names of the classes
  /// Gives sums of all calls so far. Waits for the forward pass that is under way.
  std::vector<TimeSpent> times() const;

 private:
  template <typename Answers>
  friend class Pending;
  struct State;
  explicit Model(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace hone

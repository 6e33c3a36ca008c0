#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/family.h"
#include "models/pass.h"
#include "nn/parameters.h"
#include "ops/loss.h"
#include "ops/pooling.h"

namespace hone::models {

/// The kinds of output that a plan gives for a batch.
enum class Output {
  logits,     ///< [samples, labels]
  embedding,  ///< [samples, hidden], pooled
  hidden,     ///< [units, hidden], the last layer
};

/// Asks for a forward pass.
struct OutputOptions {
  Output output = Output::logits;
  ops::Pooling pooling = ops::Pooling::mean;  ///< read for Output::embedding
  bool normalize = false;                     ///< read for Output::embedding
  bool exits = false;  ///< read for Output::logits in parts: also those of every exit
};

struct TrainingOptions {
  /// The dtype of the products and of the activations between them; bf16 and fp16 read shadows of
  /// the weights, which are fp32. Norms, softmax, loss, head and gradients of weights are fp32.
  DType dtype = DType::f32;
  /// Activation checkpointing cuts the layers into this many segments, of which memory holds the
  /// inputs alone while the forward pass runs on; at most one a layer. 0: none.
  int64_t checkpoint_segments = 0;
  /// Where true, gradients of matrices and tables are set (=), as the first batch of a step may.
  bool set_gradients = false;
};

/// Asks for a training step.
struct TrainingRequest {
  ops::LossOptions loss = {};        ///< loss of the answer against the labels
  std::vector<bool> trainable = {};  ///< by slot
  TrainingOptions options = {};
};

/// Says what a new parameter is drawn from: a normal distribution with this standard deviation, or
/// a uniform one from -scale to scale.
struct Initial {
  bool uniform = false;
  float scale = 0.02f;
  int64_t zero_row = -1;  ///< a row that is 0; -1: none
};

/// A model of any family, as training, inference and the tools know it. One definition serves every
/// batch: nothing in it knows how many samples there are.
class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  virtual const ModelConfig& config() const = 0;
  const Family& family() const { return family_; }
  DType dtype() const { return dtype_; }  ///< dtype of the products
  /// Gives the dtype of the activations between the products.
  DType activations() const { return activations_; }
  virtual bool has_head() const = 0;
  /// Says how a new parameter starts; nothing where it starts as init_parameter() says.
  virtual std::optional<Initial> initial(const nn::Parameter& /*parameter*/) const { return {}; }
  /// Gives the adapters' options, with the family's targets where none were asked for.
  const std::optional<nn::LoraOptions>& lora() const { return lora_; }
  nn::Parameters& parameters() { return parameters_; }
  const nn::Parameters& parameters() const { return parameters_; }
  /// Gives the arrays that a plan for inference reads; `shadows` are those it was recorded with.
  WeightArrays weights_for(const std::vector<bool>& shadows);

  /// Gives the inputs that a run binds, with their axes, of which its processor's batches are made.
  virtual const data::BatchLayout& layout() const = 0;
  /// Records the forward pass as a plan. What cannot be given is an error that says so.
  virtual Pass record(const OutputOptions& request) const = 0;
  /// Records a step that adds to, or sets, the gradients of the slots that the request names.
  virtual Pass record(const TrainingRequest& request) const = 0;
  /// Records the forward pass in parts, cut where samples may leave and weights come and go: bit
  /// for bit the same values. There is one part where the model has no such places.
  virtual std::vector<Part> record_parts(const OutputOptions& request) const;
  /// Records the parts with exits once more, each in two, with bit for bit the same values; none
  /// where the model or the device has no such form.
  virtual std::vector<SplitPart> record_split_parts() const { return {}; }

  Pass record_training(const ops::LossOptions& loss, std::vector<bool> trainable,
                       const TrainingOptions& options = {}) const {
    return record(TrainingRequest{loss, std::move(trainable), options});
  }

 protected:
  Model(const Family& family, const MakeOptions& options, DType activations);

  const Family& family_;
  DType dtype_;
  DType activations_;
  std::optional<nn::LoraOptions> lora_;
  nn::Parameters parameters_;
};

/// Makes a model of its config, without weights.
std::unique_ptr<Model> make_model(const ModelConfig& config, const MakeOptions& options);

}  // namespace hone::models

#pragma once

#include <string_view>
#include <vector>

#include "models/config.h"
#include "models/family.h"

namespace hone::models {

/// A family's checkpoint names, each without ".weight" and ".bias", in one table. In the layer
/// names {layer}, {group} and {inner} stand for indices. Empty: the family has no such part.
struct WeightNames {
  std::string_view word;
  std::string_view position;
  std::string_view type;
  std::string_view embedding_norm;
  std::string_view embedding_projection;

  std::string_view query;
  std::string_view key;
  std::string_view value;
  std::string_view distance;  ///< relative positions
  std::string_view attention_out;
  std::string_view attention_norm;
  std::string_view feed_in;
  std::string_view feed_out;
  std::string_view feed_norm;

  /// The classifier reads the first token: dense, activation, output.
  std::string_view head_dense;
  std::string_view head_out;
};

/// One of the architectures says how its config reads and what its weights are called.
struct EncoderFamily {
  std::string_view model_type;
  std::string_view prefix;        ///< the encoder's, in a checkpoint with a head: "bert."
  std::string_view architecture;  ///< prefix of the classes in transformers: "Bert"
  EncoderConfig (*read_config)(const JsonFields& fields);
  WeightNames names;
  kernels::Activation head_activation;
  bool drops_before_head;  ///< RoBERTa's head drops its input too
  /// Says whether embeddings are projected also where they are as wide as the layers.
  bool projects_equal_sizes = true;
  bool has_pooler;  ///< the head's first layer is the encoder's, and named with its prefix
};

extern const EncoderFamily kBert;
extern const EncoderFamily kRoberta;
extern const EncoderFamily kXlmRoberta;
extern const EncoderFamily kDistilBert;
extern const EncoderFamily kAlbert;
extern const EncoderFamily kElectra;

/// The encoders' families, in the order that messages list them.
std::vector<Family> encoder_families();
/// Gives the encoder family of a config that one of them read.
const EncoderFamily& encoder_family_of(const EncoderConfig& config);

kernels::Activation read_activation(const JsonFields& fields, const char* field,
                                    const char* fallback);

/// Fails where an encoder's fields contradict each other or ask for what is not supported.
void check_encoder(const EncoderConfig& config, const JsonFields& fields);

/// Reads the fields that BERT, RoBERTa and ALBERT spell alike; what is absent has BERT's default.
EncoderConfig read_bert_fields(const JsonFields& fields);

}  // namespace hone::models

#include "models/encoder_family.h"

namespace hone::models {
namespace {

EncoderConfig read_electra(const JsonFields& fields) {
  EncoderConfig config = read_bert_fields(fields);
  config.hidden_size = fields.integer("hidden_size", 1, kMaxWidth, 256);
  config.embedding_size = fields.integer("embedding_size", 1, kMaxWidth, 128);
  config.intermediate_size = fields.integer("intermediate_size", 1, kMaxWidth, 1024);
  config.heads = fields.integer("num_attention_heads", 1, kMaxWidth, 4);
  return config;
}

EncoderFamily electra() {
  EncoderFamily family = kBert;
  family.model_type = "electra";
  family.prefix = "electra.";
  family.architecture = "Electra";
  family.read_config = read_electra;
  family.names.embedding_projection = "embeddings_project";
  family.projects_equal_sizes = false;
  family.names.head_dense = "classifier.dense";
  family.names.head_out = "classifier.out_proj";
  family.head_activation = kernels::Activation::gelu;
  family.drops_before_head = true;
  family.has_pooler = false;
  return family;
}

}  // namespace

const EncoderFamily kElectra = electra();

}  // namespace hone::models

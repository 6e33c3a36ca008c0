#include "models/encoder_family.h"

namespace hone::models {
namespace {

EncoderConfig read_distilbert(const JsonFields& fields) {
  EncoderConfig config;
  config.vocab_size = fields.integer("vocab_size", 1, kMaxVocabulary, 30522);
  config.hidden_size = fields.integer("dim", 1, kMaxWidth, 768);
  config.embedding_size = config.hidden_size;
  config.intermediate_size = fields.integer("hidden_dim", 1, kMaxWidth, 3072);
  config.heads = fields.integer("n_heads", 1, kMaxWidth, 12);
  config.layers = fields.integer("n_layers", 1, kMaxLayers, 6);
  config.positions = fields.integer("max_position_embeddings", 1, kMaxPositions, 512);
  config.type_vocab_size = 0;
  config.activation = read_activation(fields, "activation", "gelu");
  config.layer_norm_eps = 1e-12;
  config.pad_id = fields.integer("pad_token_id", 0, kMaxVocabulary, 0);
  config.embedding_dropout = read_dropout(fields, "dropout", 0.1);
  // The attention's output is added as it is.
  config.layer_dropout = {read_dropout(fields, "attention_dropout", 0.1), 0,
                          config.embedding_dropout};
  config.head_dropout = read_dropout(fields, "seq_classif_dropout", 0.2);
  return config;
}

}  // namespace

const EncoderFamily kDistilBert = {
    .model_type = "distilbert",
    .prefix = "distilbert.",
    .architecture = "DistilBert",
    .read_config = read_distilbert,
    .names =
        {
            .word = "embeddings.word_embeddings",
            .position = "embeddings.position_embeddings",
            .type = "",
            .embedding_norm = "embeddings.LayerNorm",
            .embedding_projection = "",
            .query = "transformer.layer.{layer}.attention.q_lin",
            .key = "transformer.layer.{layer}.attention.k_lin",
            .value = "transformer.layer.{layer}.attention.v_lin",
            .distance = "",
            .attention_out = "transformer.layer.{layer}.attention.out_lin",
            .attention_norm = "transformer.layer.{layer}.sa_layer_norm",
            .feed_in = "transformer.layer.{layer}.ffn.lin1",
            .feed_out = "transformer.layer.{layer}.ffn.lin2",
            .feed_norm = "transformer.layer.{layer}.output_layer_norm",
            .head_dense = "pre_classifier",
            .head_out = "classifier",
        },
    .head_activation = kernels::Activation::relu,
    .drops_before_head = false,
    .has_pooler = false,
};

}  // namespace hone::models

#include "models/encoder_family.h"

namespace hone::models {
namespace {

EncoderConfig read_albert(const JsonFields& fields) {
  EncoderConfig config;
  config.vocab_size = fields.integer("vocab_size", 1, kMaxVocabulary, 30000);
  config.embedding_size = fields.integer("embedding_size", 1, kMaxWidth, 128);
  config.hidden_size = fields.integer("hidden_size", 1, kMaxWidth, 4096);
  config.intermediate_size = fields.integer("intermediate_size", 1, kMaxWidth, 16384);
  config.heads = fields.integer("num_attention_heads", 1, kMaxWidth, 64);
  config.layers = fields.integer("num_hidden_layers", 1, kMaxLayers, 12);
  config.layer_groups = fields.integer("num_hidden_groups", 1, kMaxLayers, 1);
  config.layers_a_group = fields.integer("inner_group_num", 1, 64, 1);
  config.positions = fields.integer("max_position_embeddings", 1, kMaxPositions, 512);
  config.type_vocab_size = fields.integer("type_vocab_size", 1, kMaxWidth, 2);
  config.activation = read_activation(fields, "hidden_act", "gelu_new");
  config.layer_norm_eps = fields.number("layer_norm_eps", 1e-12);
  config.pad_id = fields.integer("pad_token_id", 0, kMaxVocabulary, 0);
  if (fields.string("position_embedding_type", "absolute") != "absolute") {
    fields.fail_field("position_embedding_type", "ALBERT is supported with absolute only");
  }
  config.embedding_dropout = read_dropout(fields, "hidden_dropout_prob", 0);
  // The feed-forward output is added as it is.
  config.layer_dropout = {read_dropout(fields, "attention_probs_dropout_prob", 0),
                          config.embedding_dropout, 0};
  config.head_dropout = read_dropout(fields, "classifier_dropout_prob", 0.1);
  return config;
}

}  // namespace

const EncoderFamily kAlbert = {
    .model_type = "albert",
    .prefix = "albert.",
    .architecture = "Albert",
    .read_config = read_albert,
    .names =
        {
            .word = "embeddings.word_embeddings",
            .position = "embeddings.position_embeddings",
            .type = "embeddings.token_type_embeddings",
            .embedding_norm = "embeddings.LayerNorm",
            .embedding_projection = "encoder.embedding_hidden_mapping_in",
            .query = "encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.query",
            .key = "encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.key",
            .value = "encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.value",
            .distance = "",
            .attention_out =
                "encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.dense",
            .attention_norm =
                "encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention.LayerNorm",
            .feed_in = "encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn",
            .feed_out = "encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn_output",
            .feed_norm =
                "encoder.albert_layer_groups.{group}.albert_layers.{inner}.full_layer_layer_norm",
            .head_dense = "pooler",
            .head_out = "classifier",
        },
    .head_activation = kernels::Activation::tanh,
    .drops_before_head = false,
    .has_pooler = true,
};

}  // namespace hone::models

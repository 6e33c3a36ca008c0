#include "models/encoder_family.h"

namespace hone::models {
namespace {

PositionKind read_position_kind(const JsonFields& fields) {
  const std::string kind = fields.string("position_embedding_type", "absolute");
  if (kind == "absolute") return PositionKind::absolute;
  if (kind == "relative_key") return PositionKind::relative_key;
  if (kind == "relative_key_query") return PositionKind::relative_key_query;
  fields.fail_field("position_embedding_type",
                    "expected absolute, relative_key or relative_key_query");
}

}  // namespace

EncoderConfig read_bert_fields(const JsonFields& fields) {
  EncoderConfig config;
  config.vocab_size = fields.integer("vocab_size", 1, kMaxVocabulary, 30522);
  config.hidden_size = fields.integer("hidden_size", 1, kMaxWidth, 768);
  config.embedding_size = config.hidden_size;
  config.intermediate_size = fields.integer("intermediate_size", 1, kMaxWidth, 3072);
  config.heads = fields.integer("num_attention_heads", 1, kMaxWidth, 12);
  config.layers = fields.integer("num_hidden_layers", 1, kMaxLayers, 12);
  config.positions = fields.integer("max_position_embeddings", 1, kMaxPositions, 512);
  config.type_vocab_size = fields.integer("type_vocab_size", 1, kMaxWidth, 2);
  config.activation = read_activation(fields, "hidden_act", "gelu");
  config.layer_norm_eps = fields.number("layer_norm_eps", 1e-12);
  config.position_kind = read_position_kind(fields);
  config.pad_id = fields.integer("pad_token_id", 0, kMaxVocabulary, 0);
  const float hidden = read_dropout(fields, "hidden_dropout_prob", 0.1);
  config.embedding_dropout = hidden;
  config.layer_dropout = {read_dropout(fields, "attention_probs_dropout_prob", 0.1), hidden,
                          hidden};
  config.head_dropout = read_dropout(fields, "classifier_dropout", hidden);
  return config;
}

constinit const EncoderFamily kBert = {
    .model_type = "bert",
    .prefix = "bert.",
    .architecture = "Bert",
    .read_config = read_bert_fields,
    .names =
        {
            .word = "embeddings.word_embeddings",
            .position = "embeddings.position_embeddings",
            .type = "embeddings.token_type_embeddings",
            .embedding_norm = "embeddings.LayerNorm",
            .embedding_projection = "",
            .query = "encoder.layer.{layer}.attention.self.query",
            .key = "encoder.layer.{layer}.attention.self.key",
            .value = "encoder.layer.{layer}.attention.self.value",
            .distance = "encoder.layer.{layer}.attention.self.distance_embedding",
            .attention_out = "encoder.layer.{layer}.attention.output.dense",
            .attention_norm = "encoder.layer.{layer}.attention.output.LayerNorm",
            .feed_in = "encoder.layer.{layer}.intermediate.dense",
            .feed_out = "encoder.layer.{layer}.output.dense",
            .feed_norm = "encoder.layer.{layer}.output.LayerNorm",
            .head_dense = "pooler.dense",
            .head_out = "classifier",
        },
    .head_activation = kernels::Activation::tanh,
    .drops_before_head = false,
    .has_pooler = true,
};

}  // namespace hone::models

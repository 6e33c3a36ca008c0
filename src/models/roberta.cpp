#include "models/encoder_family.h"

namespace hone::models {
namespace {

EncoderConfig read_roberta(const JsonFields& fields) {
  EncoderConfig config = read_bert_fields(fields);
  config.pad_id = fields.integer("pad_token_id", 0, kMaxVocabulary, 1);
  config.positions_skip_pad = true;
  return config;
}

EncoderFamily roberta(std::string_view model_type, std::string_view architecture) {
  EncoderFamily family = kBert;
  family.model_type = model_type;
  family.prefix = "roberta.";
  family.architecture = architecture;
  family.read_config = read_roberta;
  family.names.head_dense = "classifier.dense";
  family.names.head_out = "classifier.out_proj";
  family.drops_before_head = true;
  family.has_pooler = false;
  return family;
}

}  // namespace

const EncoderFamily kRoberta = roberta("roberta", "Roberta");
const EncoderFamily kXlmRoberta = roberta("xlm-roberta", "XLMRoberta");

}  // namespace hone::models

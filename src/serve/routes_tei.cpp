#include "base/error.h"
#include "data/text_processor.h"
#include "serve/service.h"
#include "serve/wire_tei.h"

namespace hone::serve {

void Service::predict(const CallPtr& call, const RouteMatch& match) {
  const Found found = find_classifier(match.model);
  const JsonBody body(call->request().body);
  const RequestFields fields(body.root());
  const auto read = match.entry->route == Route::predict ? read_predict : read_predict_batch;
  auto ask = std::make_shared<PredictAsk>(read(fields, limits(call)));
  Work work = std::move(ask->work);
  compute_for(call, found, std::move(work),
              [ask, traits = found.traits](auto answers, http::Response& response) {
                response.body = write_predictions(*traits->config, *ask, answers);
              });
}

void Service::embed(const CallPtr& call, const RouteMatch& match) {
  const Found found = find_embedding(match.model);
  const JsonBody body(call->request().body);
  embed_with(call, found, RequestFields(body.root()));
}

void Service::embed_with(const CallPtr& call, const Found& found, const RequestFields& fields) {
  auto ask = std::make_shared<EmbedAsk>(read_embed(fields, limits(call, found.traits.get())));
  Work work = std::move(ask->work);
  compute_for(call, found, std::move(work), [ask](auto answers, http::Response& response) {
    response.body = write_embeddings(*ask, answers);
  });
}

void Service::embed_all(const CallPtr& call, const RouteMatch& match) {
  const Found found = find_embedding(match.model);
  const JsonBody body(call->request().body);
  EmbedAsk ask = read_embed(RequestFields(body.root()), limits(call, found.traits.get()));
  compute_for(
      call, found, std::move(ask.work),
      [traits = found.traits](auto answers, http::Response& response) {
        response.body = write_token_embeddings(traits->width, answers);
      },
      true);
}

void Service::rerank(const CallPtr& call, const RouteMatch& match) {
  const Found found = find_classifier(match.model);
  const JsonBody body(call->request().body);
  rerank_with(call, found, RequestFields(body.root()));
}

void Service::rerank_with(const CallPtr& call, const Found& found, const RequestFields& fields) {
  if (found.traits->kind != ModelTraits::Kind::reranker) {
    throw RequestError(Failure::model_type,
                       fmt::format("{} has {} labels, it is not a re-ranker model; use /predict",
                                   quote(found.traits->name), found.traits->config->labels.size()));
  }
  auto ask = std::make_shared<RerankAsk>(read_rerank(fields, limits(call)));
  Work work = ask->work;  // the answer may want its texts again
  compute_for(call, found, std::move(work), [ask](auto answers, http::Response& response) {
    response.body = write_ranks(*ask, ask->work.inputs, answers);
  });
}

void Service::similarity(const CallPtr& call, const RouteMatch& match) {
  const Found found = find_embedding(match.model);
  const JsonBody body(call->request().body);
  similarity_with(call, found, RequestFields(body.root()));
}

void Service::similarity_with(const CallPtr& call, const Found& found,
                              const RequestFields& fields) {
  auto ask = std::make_shared<EmbedAsk>(read_similarity(fields, limits(call, found.traits.get())));
  Work work = std::move(ask->work);
  work.single = false;
  compute_for(call, found, std::move(work), [ask](auto answers, http::Response& response) {
    response.body = write_similarities(*ask, answers);
  });
}

namespace {

/// Tells whether the client is @huggingface/inference, which reads a nested answer alone, and sends
/// no "parameters" where its caller gives none.
bool wants_nested(const http::Request& request) {
  const std::string* agent = request.header("user-agent");
  return agent && agent->starts_with("@huggingface/inference/");
}

}  // namespace

/// What the model is for: clients of Hugging Face's inference and of SageMaker post to one path.
void Service::pipeline(const CallPtr& call, const RouteMatch& match) {
  const Found found = find(match.model);
  const JsonBody body(call->request().body);
  const RequestFields fields(body.root());
  if (found.traits->embeds()) {
    const auto inputs = fields.find("inputs");
    const bool sentences = inputs && inputs->is_object();
    return sentences ? similarity_with(call, found, fields) : embed_with(call, found, fields);
  }
  if (fields.find("query") && fields.find("texts")) return rerank_with(call, found, fields);
  auto ask = std::make_shared<PredictAsk>(read_pipeline(fields, limits(call)));
  ask->nested = ask->nested || wants_nested(call->request());
  Work work = std::move(ask->work);
  compute_for(call, found, std::move(work),
              [ask, traits = found.traits](auto answers, http::Response& response) {
                response.body = write_predictions(*traits->config, *ask, answers);
              });
}

namespace {

const text::Tokenizer& tokenizer_of(const ServedModel& model) {
  const auto* processor = dynamic_cast<const data::TextProcessor*>(&model.session().processor());
  if (!processor) throw RequestError(Failure::model_type, "the model reads no text");
  return processor->tokenizer();
}

}  // namespace

void Service::tokenize(const CallPtr& call, const RouteMatch& match) {
  const Found found = find(match.model);
  const JsonBody body(call->request().body);
  auto ask = std::make_shared<TokenizeAsk>(read_tokenize(RequestFields(body.root()), limits(call)));
  run_in_background(call, [call, ask, model = found.model] {
    call->send_json(write_tokens(tokenizer_of(*model), *ask));
  });
}

void Service::decode(const CallPtr& call, const RouteMatch& match) {
  const Found found = find(match.model);
  const JsonBody body(call->request().body);
  auto ask = std::make_shared<DecodeAsk>(read_decode(RequestFields(body.root()), limits(call)));
  run_in_background(call, [call, ask, model = found.model] {
    call->send_json(write_decoded(tokenizer_of(*model), *ask));
  });
}

}  // namespace hone::serve

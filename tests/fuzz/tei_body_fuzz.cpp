// layers: serve
// The first byte chooses the route, the others are its body.
#include "fuzz/serve_checks.h"
#include "serve/explaining.h"
#include "serve/wire_tei.h"

namespace hone::serve {
namespace {

constexpr size_t kWidth = 6;

void read_reasons(const RequestFields& fields, const ReadLimits& limits) {
  const ExplainAsk ask = read_explain(fields, limits);
  check_work(ask.work);
  require(ask.work.ids.empty() && !ask.work.truncate_left);
  require(ask.steps >= 1 && ask.steps <= 1000);
  require(ask.own.ablate >= 0 && ask.own.ablate <= 10'000);
  require(ask.own.concepts >= -1 && ask.own.concepts <= 10'000);
  std::vector<explain::Explanation> made;
  for (const infer::Input& input : ask.work.inputs) {
    require(!input.pair);
    made.emplace_back().label = input.text;
  }
  require(Json::accept(write_explanations(ask.work.single, made)));
}

void read_body(uint8_t route, const RequestFields& fields, const ReadLimits& limits) {
  const auto predict = [&](PredictAsk (*read)(const RequestFields&, const ReadLimits&)) {
    const PredictAsk ask = read(fields, limits);
    check_work(ask.work);
    require(Json::accept(write_predictions(fuzz_config(), ask, made_answers(ask.work, 2))));
  };
  switch (route % 9) {
    case 0:
      return predict(read_predict);
    case 1:
      return predict(read_predict_batch);
    case 2:
      return predict(read_pipeline);
    case 3: {
      const EmbedAsk ask = read_embed(fields, limits);
      check_work(ask.work);
      require(Json::accept(write_embeddings(ask, made_answers(ask.work, kWidth))));
      return;
    }
    case 4: {
      const EmbedAsk ask = read_similarity(fields, limits);
      check_work(ask.work);
      require(Json::accept(write_similarities(ask, made_answers(ask.work, kWidth))));
      return;
    }
    case 5: {
      const RerankAsk ask = read_rerank(fields, limits);
      check_work(ask.work);
      require(Json::accept(write_ranks(ask, ask.work.inputs, made_answers(ask.work, 1))));
      return;
    }
    case 6:
      return check_work(read_tokenize(fields, limits).work, true);
    case 7:
      return require(!read_decode(fields, limits).ids.empty());
    default:
      read_reasons(fields, limits);
  }
}

}  // namespace
}  // namespace hone::serve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::serve;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  static const Prompts prompts = {{"query", "query: "}};
  takes([&] {
    const JsonBody body(text);
    read_body(data[0], RequestFields(body.root()), {text.size(), kFuzzInputs, &prompts});
  });
  return 0;
}

// layers: serve
// The first byte chooses the route, the others are its body.
#include "fuzz/serve_checks.h"
#include "serve/wire_openai.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::serve;
  using hone::Json;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  takes([&] {
    const JsonBody body(text);
    const RequestFields fields(body.root());
    const ReadLimits limits{text.size(), kFuzzInputs, nullptr};
    if (data[0] % 2 == 0) {
      const OpenAiEmbedAsk ask = read_openai_embeddings(fields, limits);
      check_work(ask.embed.work);
      const auto answers = made_answers(ask.embed.work, 5);
      require(Json::accept(write_openai_embeddings(ask, ask.model, answers)));
    } else {
      const ClassifyAsk ask = read_classify(fields, limits);
      check_work(ask.work);
      const auto answers = made_answers(ask.work, 2);
      require(Json::accept(write_classify(fuzz_config(), ask.model, "id", 1, answers)));
    }
  });
  return 0;
}

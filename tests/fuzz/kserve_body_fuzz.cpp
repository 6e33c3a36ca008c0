// layers: serve
// The first byte says how many bytes the value of Inference-Header-Content-Length has, 0: there is
// none; the value and the body follow.
#include <algorithm>

#include "fuzz/serve_checks.h"
#include "serve/wire_kserve.h"

namespace hone::serve {
namespace {

/// What a client that keeps to the protocol reads of an answer.
void check_answer(const InferBody& answer) {
  const size_t header = answer.header_bytes.value_or(answer.body.size());
  require(header <= answer.body.size());
  const Json json = Json::parse(answer.body.substr(0, header));
  size_t bytes = header;
  for (const Json& output : json["outputs"]) {
    if (output.contains("data")) continue;
    bytes += output["parameters"]["binary_data_size"].get<size_t>();
  }
  require(bytes == answer.body.size());
}

}  // namespace
}  // namespace hone::serve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::serve;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t digits = std::min<size_t>(data[0] % 8, text.size());
  const std::string_view body = std::string_view(text).substr(digits);
  takes([&] {
    const InferAsk ask = read_infer(
        body, digits > 0 ? std::optional(std::string_view(text).substr(0, digits)) : std::nullopt,
        {body.size(), kFuzzInputs, nullptr});
    check_work(ask.work);
    takes([&] {
      check_answer(write_infer({"m", "1", &fuzz_config()}, ask, made_answers(ask.work, 2)));
    });
    takes([&] {
      check_answer(write_infer({"m", "1", nullptr, 3}, ask, made_answers(ask.work, 3)));
    });
  });
  return 0;
}

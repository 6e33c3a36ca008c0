// layers: http_reader
// The first two bytes seed the sizes of the pieces that the others arrive in, as from a connection
// that carries one request behind the other.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "http/server/request_reader.h"

namespace {

using hone::http::Limits;
using hone::http::Request;
using hone::http::RequestReader;

constexpr Limits kLimits = {1024, 8, 2048};

void require(bool holds) {
  if (!holds) std::abort();
}

struct Outcome {
  std::vector<Request> requests;
  int refused = 0;  ///< the status; 0: the bytes ended first
};

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

/// What a program may rely on in a request that was taken.
void check(const Request& request) {
  require(!request.method.empty() && !request.path.empty());
  require(request.path.front() == '/' || request.path == "*" || request.method == "CONNECT");
  require(request.headers.size() <= kLimits.header_fields);
  require(request.body.size() <= kLimits.body_bytes);
  size_t hosts = 0, lengths = 0, codings = 0;
  for (const auto& [name, value] : request.headers) {
    require(!name.empty() && std::ranges::none_of(name, is_control));
    require(std::ranges::none_of(value, is_control));
    const Request alone = {.headers = {{name, value}}};
    hosts += alone.header("host") != nullptr;
    lengths += alone.header("content-length") != nullptr;
    codings += alone.header("transfer-encoding") != nullptr;
  }
  require(hosts <= 1 && lengths + codings <= 1);
  if (lengths == 0 && codings == 0) require(request.body.empty());
}

template <typename PieceSize>
Outcome read_all(std::string_view bytes, PieceSize&& piece_size) {
  Outcome outcome;
  std::string kept;
  auto reader = std::make_unique<RequestReader>(kLimits);
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), piece_size());
    kept += bytes.substr(0, size);
    bytes.remove_prefix(size);
    std::string_view pending = kept;
    while (!pending.empty()) {
      const size_t before = pending.size();
      const RequestReader::Status status = reader->read(pending);
      require(pending.size() <= before);
      if (status == RequestReader::Status::refused) {
        outcome.refused = reader->refusal().status;
        require(outcome.refused >= 400 && !reader->refusal().reason.empty());
        return outcome;
      }
      if (status == RequestReader::Status::more) break;
      outcome.requests.push_back(reader->take_request());
      check(outcome.requests.back());
      reader = std::make_unique<RequestReader>(kLimits);
    }
    require(pending.size() <= kLimits.header_bytes);
    kept = std::string(pending);
  }
  return outcome;
}

bool same(const Request& a, const Request& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.body == b.body &&
         std::ranges::equal(a.headers, b.headers, [](const auto& x, const auto& y) {
           return x.name == y.name && x.value == y.value;
         });
}

}  // namespace

/// Bytes give the same requests and the same refusal in whatever pieces they arrive.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::mt19937 random(data[0] * 256u + data[1]);
  const size_t most = 1 + random() % 64;
  const Outcome whole = read_all(bytes, [&] { return bytes.size(); });
  const Outcome pieces = read_all(bytes, [&] { return 1 + random() % most; });
  require(whole.refused == pieces.refused && whole.requests.size() == pieces.requests.size());
  for (size_t i = 0; i < whole.requests.size(); ++i) {
    require(same(whole.requests[i], pieces.requests[i]));
  }
  return 0;
}

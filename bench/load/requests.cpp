#include "load/requests.h"

#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "base/json.h"

namespace hone::load {
namespace {

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(ErrorKind::usage, "{}: cannot be read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) fail(ErrorKind::usage, "{}: has no line", path);
  return lines;
}

std::string replaced(std::string text, std::string_view name, std::string_view value) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size()) {
    text.replace(at, name.size(), value);
  }
  return text;
}

/// One body a group of `batch` texts; the last group goes on with the first texts.
std::vector<std::string> fill_template(const Options& options) {
  const std::vector<std::string> texts = read_lines(options.texts);
  const size_t batch = static_cast<size_t>(options.batch);
  std::vector<std::string> bodies;
  for (size_t first = 0; first < texts.size(); first += batch) {
    Json group = Json::array();
    for (size_t i = 0; i < batch; ++i) group.push_back(texts[(first + i) % texts.size()]);
    const auto text = [](const Json& json) {
      return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    // The texts come last, and the longer name first: what they hold is never taken for a name.
    std::string body = replaced(options.body_template, "$COUNT", std::to_string(batch));
    if (body.find("$TEXTS") != std::string::npos) {
      body = replaced(std::move(body), "$TEXTS", text(group));
    } else {
      body = replaced(std::move(body), "$TEXT", text(group[0]));
    }
    bodies.push_back(std::move(body));
  }
  return bodies;
}

std::vector<std::string> read_bodies(const Options& options) {
  if (!options.bodies.empty()) return read_lines(options.bodies);
  if (!options.texts.empty()) return fill_template(options);
  return {""};
}

}  // namespace

std::vector<std::string> read_requests(const Options& options) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\nAccept: */*\r\n", options.method,
                                 options.path, options.address, options.port);
  for (const std::string& header : options.headers) head += header + "\r\n";
  std::vector<std::string> requests;
  for (const std::string& body : read_bodies(options)) {
    const std::string length =
        body.empty()
            ? ""
            : fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
    requests.push_back(head + length + "\r\n" + body);
  }
  return requests;
}

}  // namespace hone::load

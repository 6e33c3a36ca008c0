#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

constexpr int kSocketPatience = 120'000;  // milliseconds

/// A connection to a port of this machine.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void send(const std::string& bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// What comes up to the first empty line.
  std::string receive_head() {
    while (read_.find("\r\n\r\n") == std::string::npos && receive_more()) {
    }
    return std::exchange(read_, {});
  }
  /// One response: its head and its body.
  std::string receive() {
    size_t wanted = std::string::npos;
    while (read_.size() < wanted && receive_more()) {
      const size_t head = read_.find("\r\n\r\n");
      const size_t length = read_.find("Content-Length: ");
      if (head != std::string::npos && length < head) {
        wanted = head + 4 + std::stoul(read_.substr(length + 16));
      }
    }
    return std::exchange(read_, {});
  }

 private:
  bool receive_more() {
    pollfd waited{socket_, POLLIN, 0};
    if (::poll(&waited, 1, kSocketPatience) <= 0) return false;
    char bytes[1 << 14];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got > 0) read_.append(bytes, static_cast<size_t>(got));
    return got > 0;
  }

  int socket_;
  bool connected_ = false;
  std::string read_;
};

std::string request_text(const std::string& method, const std::string& path,
                         const std::string& body = {}) {
  return method + " " + path +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string fetch(int port, const std::string& method, const std::string& path,
                  const std::string& body = {}) {
  RawClient connection(port);
  connection.send(request_text(method, path, body));
  return connection.receive();
}

std::string body_of_response(const std::string& response) {
  const size_t head = response.find("\r\n\r\n");
  return head == std::string::npos ? "" : response.substr(head + 4);
}

int port_in(const std::string& line) {
  const size_t digits = line.find_last_of(':');
  return digits == std::string::npos ? 0 : std::atoi(line.c_str() + digits + 1);
}

/// hone serve on a free port.
class ServeProgram {
 public:
  explicit ServeProgram(const Words& words, const ProgramOptions& options = {})
      : program_(all_words(words), options) {
    while (port_ == 0) {
      const std::string line = program_.read_error_line();
      if (line.empty()) {
        ADD_FAILURE() << "it does not listen";
        return;
      }
      if (line.starts_with("listening on http://127.0.0.1:")) port_ = port_in(line);
      if (line.starts_with("metrics on ")) metrics_port_ = port_in(line.substr(0, line.rfind('/')));
    }
  }
  int port() const { return port_; }
  int metrics_port() const { return metrics_port_; }
  Program& program() { return program_; }

 private:
  static Words all_words(Words words) {
    words.insert(words.begin(), {"serve", "--hostname", "127.0.0.1", "--port", "0"});
    return words;
  }
  Program program_;
  int port_ = 0;
  int metrics_port_ = 0;
};

TEST(Serve, AnswersWhatPredictAnswers) {
  ServeProgram server({"--model", golden("bert-words")});
  const Json predicted =
      hone({"predict", "--model", golden("bert-words")}, "the film was great\n").objects().at(0);
  const std::string response =
      fetch(server.port(), "POST", "/predict", R"({"inputs": "the film was great"})");
  ASSERT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
  const Json answer = Json::parse(body_of_response(response));
  EXPECT_EQ(answer[0]["label"], predicted["label"]);
  for (const Json& one : answer) {
    EXPECT_EQ(one["score"].get<float>(), predicted["scores"][one["label"]].get<float>());
  }
  EXPECT_TRUE(fetch(server.port(), "GET", "/health").starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST(Serve, EmbedsWhatEmbedEmbeds) {
  ServeProgram server({"--model", "m=" + golden("sentence-bert-mean")});
  const Json embedded =
      hone({"embed", "--model", golden("sentence-bert-mean"), "--normalize"}, "the film\n")
          .objects()
          .at(0);
  const std::string response = fetch(server.port(), "POST", "/embed", R"({"inputs": "the film"})");
  EXPECT_EQ(Json::parse(body_of_response(response))[0].get<std::vector<float>>(),
            embedded["embedding"].get<std::vector<float>>());
}

TEST(Serve, EndsOnSigtermThoughConnectionsStayOpen) {
  ServeProgram server({"--model", golden("bert-words")});
  RawClient idle(server.port());
  ASSERT_TRUE(idle.connected());
  RawClient used(server.port());
  used.send(request_text("GET", "/health"));
  EXPECT_TRUE(used.receive().starts_with("HTTP/1.1 200"));
  server.program().signal(SIGTERM);
  const Finished finished = server.program().finish();
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
}

TEST(Serve, ASecondSignalEndsIt) {
  ServeProgram server({"--model", golden("bert-words"), "--body-seconds", "1000"});
  RawClient slow(server.port());
  // A body that never comes keeps it draining; that it waits for one is what it says here.
  slow.send(
      "POST /predict HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  EXPECT_TRUE(slow.receive_head().starts_with("HTTP/1.1 100"));
  server.program().signal(SIGINT);
  // It no longer listens once it drains.
  while (RawClient(server.port()).connected() && server.program().runs()) ::usleep(1000);
  EXPECT_TRUE(server.program().runs());
  server.program().signal(SIGINT);
  EXPECT_EQ(server.program().finish().code, 130);
}

TEST(Serve, WhatIsNotDoneWhenTheTimeToDrainIsOverIsSaid) {
  ServeProgram server(
      {"--model", golden("bert-words"), "--body-seconds", "1000", "--drain-seconds", "0.2"});
  RawClient slow(server.port());
  slow.send(
      "POST /predict HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  EXPECT_TRUE(slow.receive_head().starts_with("HTTP/1.1 100"));
  server.program().signal(SIGTERM);
  const Finished finished = server.program().finish();
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.err, "hone: requests were left after 0.2 s\n");
}

TEST(Serve, SighupLoadsTheFolderAnewAndKeepsTheOldOneWhereItIsBad) {
  Scratch scratch;
  const std::string folder = scratch.copy("bert-words");
  ServeProgram server({"--model", "m=" + folder});
  const std::string ask_labels = R"({"inputs": "the film"})";
  const std::string before = body_of_response(fetch(server.port(), "POST", "/predict", ask_labels));
  Json config = parse_json(read_file(folder + "/config.json"), "config.json");
  config["id2label"] = {{"0", "bad"}, {"1", "good"}};
  config["label2id"] = {{"bad", 0}, {"good", 1}};
  write_json(folder + "/config.json", config);
  server.program().signal(SIGHUP);
  EXPECT_EQ(server.program().read_error_line(), "hone: models: loaded anew");
  const std::string after = body_of_response(fetch(server.port(), "POST", "/predict", ask_labels));
  EXPECT_NE(before.find("negative"), std::string::npos);
  EXPECT_NE(after.find("good"), std::string::npos);
  std::filesystem::remove(folder + "/config.json");
  server.program().signal(SIGHUP);
  const std::string line = server.program().read_error_line();
  EXPECT_TRUE(line.starts_with("hone: models: the old one stays: ")) << line;
  EXPECT_EQ(body_of_response(fetch(server.port(), "POST", "/predict", ask_labels)), after);
  server.program().signal(SIGTERM);
  EXPECT_EQ(server.program().finish().code, 0);
}

TEST(Serve, TheLogHasALineARequestWithoutItsText) {
  ServeProgram server({"--model", golden("bert-words"), "--json-output"});
  fetch(server.port(), "POST", "/predict", R"({"inputs": "my secret film"})");
  fetch(server.port(), "GET", "/nothing");
  server.program().signal(SIGTERM);
  const Finished finished = server.program().finish();
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(finished.out.find("secret"), std::string::npos);
  std::vector<Json> entries = finished.objects();
  ASSERT_EQ(entries.size(), 2u) << finished.out;
  // A line is written behind its response, so that the second request's may come first.
  if (entries[0]["status"] == 404) std::swap(entries[0], entries[1]);
  EXPECT_EQ(entries[0]["status"], 200);
  EXPECT_EQ(entries[0]["inputs"], 1);
  EXPECT_EQ(entries[1]["status"], 404);
}

TEST(Serve, FlagsAreVariablesToo) {
  ::setenv("HONE_API_KEY", "k", 1);
  ::setenv("MAX_CLIENT_BATCH_SIZE", "2", 1);
  ::setenv("HONE_PORT", "tcp://10.0.0.1:80", 1);  // Kubernetes' for a service of that name
  ::setenv("HOSTNAME", "not-an-address.invalid", 1);
  ServeProgram server({"--model", golden("bert-words")});
  for (const char* name : {"HONE_API_KEY", "MAX_CLIENT_BATCH_SIZE", "HONE_PORT", "HOSTNAME"}) {
    ::unsetenv(name);
  }
  EXPECT_TRUE(fetch(server.port(), "GET", "/info").starts_with("HTTP/1.1 401 "));
  RawClient connection(server.port());
  connection.send("GET /info HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\n\r\n");
  const Json info = Json::parse(body_of_response(connection.receive()));
  EXPECT_EQ(info["max_client_batch_size"], 2);
}

TEST(Serve, MetricsMayHaveAPortOfTheirOwn) {
  ServeProgram server({"--model", golden("bert-words"), "--prometheus-port", "0"});
  for (const int port : {server.port(), server.metrics_port()}) {
    EXPECT_NE(fetch(port, "GET", "/metrics").find("te_queue_size 0"), std::string::npos);
  }
  EXPECT_TRUE(fetch(server.metrics_port(), "GET", "/info").starts_with("HTTP/1.1 404 "));
}

/// A connection that took the place of a closed standard output would get the log.
TEST(Serve, NothingTakesThePlaceOfAClosedStandardDescriptor) {
  ServeProgram server({"--model", golden("bert-words")}, {.closed = {STDIN_FILENO, STDOUT_FILENO}});
  RawClient connection(server.port());
  for (int i = 0; i < 3; ++i) {
    connection.send(request_text("POST", "/predict", R"({"inputs": "the film"})"));
    EXPECT_TRUE(connection.receive().starts_with("HTTP/1.1 200"));
  }
  const std::string files = "/proc/" + std::to_string(server.program().process()) + "/fd/";
  for (const char* descriptor : {"0", "1"}) {
    EXPECT_EQ(std::filesystem::read_symlink(files + descriptor), "/dev/null");
  }
}

TEST(Serve, FitsItsConnectionsToALowLimitOfOpenFiles) {
  ServeProgram server({"--model", golden("bert-words")}, {.open_files = 1024});
  EXPECT_TRUE(fetch(server.port(), "GET", "/health").starts_with("HTTP/1.1 200"));
}

TEST(Serve, AModelThatIsTooLargeForTheMemoryIsSaid) {
  Scratch scratch;
  const std::string folder = scratch.copy("bert-words");
  Json config = parse_json(read_file(folder + "/config.json"), "config.json");
  config["vocab_size"] = 1 << 24;
  config["num_attention_heads"] = 256;
  config["hidden_size"] = 256 * 256;
  write_json(folder + "/config.json", config);
  expect_refused(hone({"serve", "--model", folder, "--device", "cpu"}),
                 {folder, "MB of memory", "free", "--memory-budget"});
}

TEST(Serve, MistakesAreOneLine) {
  const std::string model = golden("bert-words");
  expect_refused(hone({"serve"}), {"--model", "missing"});
  expect_refused(hone({"serve", "--model", "/nowhere"}), {"--model", "/nowhere"});
  expect_refused(hone({"serve", "--model", model, "--port", "70000"}), {"--port", "70000"});
  expect_refused(hone({"serve", "--model", model, "--api-key-file", "/no/key"}), {"/no/key"});
  expect_refused(hone({"serve", "--model", model, "--tls-cert", "a.pem"}), {"--tls-key"});
  expect_refused(hone({"serve", "--model", model, "--tls-cert", "/no/a.pem", "--tls-key",
                       "/no/b.pem", "--port", "0"}),
                 {"/no/a.pem"});
  expect_refused(
      Program({"serve", "--model", model, "--max-connections", "1000"}, {.open_files = 1024})
          .finish(),
      {"--max-connections", "1000", "1024", "ulimit"});
  expect_refused(hone({"serve", "--model", model, "--model", model}), {"--model", "NAME=DIR"});
  expect_refused(hone({"serve", "--model", model, "--pooling", "sum"}), {"--pooling", "sum"});
  expect_refused(hone({"serve", "--model", model, "--memory-budget", "1"}), {"--memory-budget"});
  ServeProgram server({"--model", model});
  expect_refused(hone({"serve", "--model", model, "--hostname", "127.0.0.1", "--port",
                       std::to_string(server.port())}),
                 {"--port", std::to_string(server.port())});
}

}  // namespace
}  // namespace hone::cli

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cli/serve_program.h"
#include "sanitized.h"

namespace hone::cli {
namespace {

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

/// Gives a folder whose config asks for 16 million words of heads^2 values.
std::string large_model(const Scratch& scratch, int heads) {
  std::string folder = scratch.copy("bert-words");
  Json config = parse_json(read_file(folder + "/config.json"), "config.json");
  config["vocab_size"] = 1 << 24;
  config["num_attention_heads"] = heads;
  config["hidden_size"] = heads * heads;
  write_json(folder + "/config.json", config);
  return folder;
}

TEST(Serve, AModelThatIsTooLargeForTheMemoryIsSaid) {
  Scratch scratch;
  const std::string folder = large_model(scratch, 256);
  expect_refused(hone({"serve", "--model", folder, "--device", "cpu"}),
                 {folder, "MB of memory", "free", "--memory-budget"});
}

/// The limit stands for a control group's, which a test may not set.
TEST(Serve, TheMemoryThatIsFreeIsWhatLimitsLeave) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take more address space than a limit leaves";
  Scratch scratch;
  const std::string folder = large_model(scratch, 16);
  constexpr uint64_t kLimit = uint64_t{1} << 30;
  const Finished finished =
      Program({"serve", "--model", folder, "--device", "cpu"}, {.address_space = kLimit}).finish();
  expect_refused(finished, {folder, "MB of memory", "free"});
  const size_t free = finished.err.find("but ");
  ASSERT_NE(free, std::string::npos) << finished.err;
  EXPECT_LT(std::stoull(finished.err.substr(free + 4)), kLimit >> 20) << finished.err;
}

/// Gives the value of a field of a response's head.
std::string field_of(const std::string& response, const std::string& name) {
  const size_t at = response.find("\r\n" + name + ": ");
  if (at == std::string::npos || at > response.find("\r\n\r\n")) return "";
  const size_t begin = at + name.size() + 4;
  return response.substr(begin, response.find("\r\n", begin) - begin);
}

TEST(Serve, ARefusalHasTheRequestsNameInItsAnswerAndInTheLog) {
  ServeProgram server(
      {"--model", golden("bert-words"), "--json-output", "--header-seconds", "0.2"});
  const std::string named = " HTTP/1.1\r\nHost: a\r\nx-request-id: mine\r\n";
  struct Refused {
    std::string sent;
    std::string status;
    bool read;  ///< whether its header was
  };
  const std::vector<Refused> cases = {
      {"POST /predict" + named + "Content-Length: 99000000\r\n\r\n", "413", true},
      {"POST /predict" + named + "Transfer-Encoding: chunked\r\n\r\nx\r\n", "400", true},
      {"GET /health" + named + "Host: b\r\n\r\n", "400", false},
      {"GET /health" + named + "X: " + std::string(20'000, 'x') + "\r\n\r\n", "431", false},
      {"GET /health" + named, "408", false},
  };
  std::vector<std::string> ids;
  for (const Refused& one : cases) {
    RawClient client(server.port());
    client.send(one.sent);
    const std::string response = client.receive();
    EXPECT_TRUE(response.starts_with("HTTP/1.1 " + one.status)) << response;
    ids.push_back(field_of(response, "x-request-id"));
    EXPECT_EQ(ids.back() == "mine", one.read) << response;
    EXPECT_FALSE(ids.back().empty()) << response;
  }
  server.program().signal(SIGTERM);
  const std::vector<Json> entries = server.program().finish().objects();
  ASSERT_EQ(entries.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(entries[i]["status"], std::stoi(cases[i].status));
    EXPECT_EQ(entries[i]["request_id"], ids[i]);
    EXPECT_EQ(entries[i]["peer"], "127.0.0.1");
    EXPECT_EQ(entries[i]["path"], cases[i].read ? "/predict" : "-");
  }
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

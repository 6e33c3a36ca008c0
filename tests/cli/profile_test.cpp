// hone profile through the program: what it writes, and that it changes nothing.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>

#include "base/file.h"
#include "base/file_calls.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/small_run.h"

namespace hone::cli {
namespace {

Json profile_in(const std::string& folder) {
  return parse_json(read_file(folder + "/profile.json"), folder + "/profile.json");
}

double stage_sum(const Json& stages) {
  double sum = 0;
  for (const auto& [name, value] : stages.items()) {
    if (value.is_number()) sum += value.get<double>();
    if (value.is_object()) sum += stage_sum(value);
  }
  return sum;
}

std::vector<std::string> profiled(const std::string& folder, std::vector<std::string> command) {
  command.insert(command.begin(), {"profile", "--output", folder, "--skip", "1", "--"});
  return command;
}

TEST(Profile, OfTrainingHasItsStagesOpsAndMemory) {
  const Scratch scratch;
  const Finished done = hone(profiled(scratch / "p", small_run(scratch / "out")));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("operation"), std::string::npos) << done.err;
  const Json profile = profile_in(scratch / "p");
  const double wall = profile.at("wall_s");
  const Json& stages = profile.at("stages");
  EXPECT_NEAR(stage_sum(stages), wall, 1e-6);
  for (const char* name : {"loading", "forward", "backward", "evaluation"}) {
    EXPECT_GT(stages.at(name).get<double>(), 0) << name;
  }
  EXPECT_GT(stages.at("other").at("optimizer").get<double>(), 0);
  double shares = 0;
  bool has_linear = false;
  for (const Json& op : profile.at("ops")) {
    shares += op.at("share").get<double>();
    if (op.at("name") == "linear") has_linear = op.at("flops").get<double>() > 0;
  }
  EXPECT_NEAR(shares, 1, 1e-6);
  EXPECT_TRUE(has_linear);
  EXPECT_EQ(profile.at("window").at("steps"), 10);
  for (const char* kind : {"weights", "gradients", "optimizer", "activations", "peak_resident"}) {
    EXPECT_GT(profile.at("memory").at(kind).get<uint64_t>(), 0U) << kind;
  }
  EXPECT_GE(profile.at("samples").size(), 2U);
  for (const char* name : {"trace.pftrace", "trace.json.gz", "report.html"}) {
    EXPECT_TRUE(file_exists(scratch / "p/" + name)) << name;
  }
}

TEST(Profile, ChangesNoBitOfARun) {
  const Scratch scratch;
  ASSERT_EQ(hone(small_run(scratch / "plain")).code, 0);
  ASSERT_EQ(hone(profiled(scratch / "p", small_run(scratch / "profiled"))).code, 0);
  EXPECT_EQ(read_file(scratch / "plain/model.safetensors"),
            read_file(scratch / "profiled/model.safetensors"));
}

TEST(Profile, OfPredictionKeepsTheAnswersApart) {
  const Scratch scratch;
  ASSERT_EQ(hone(small_run(scratch / "out", {"--max_steps", "1"})).code, 0);
  const Words predict = {"predict", "--model", scratch / "out"};
  const std::string input = "a great film\nnothing to see\n";
  const Finished plain = hone(predict, input);
  const Finished done = hone(profiled(scratch / "p", predict), input);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, plain.out);
  const Json profile = profile_in(scratch / "p");
  EXPECT_GT(profile.at("stages").at("forward").get<double>(), 0);
  EXPECT_GT(profile.at("stages").at("loading").get<double>(), 0);
  EXPECT_EQ(profile.at("stages").at("backward"), 0);
}

/// Sends one request to a server on this machine; gives what it answers.
std::string answer_to(int port, const std::string& request) {
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(connection, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer(1 << 16, '\0');
  pollfd waited{connection, POLLIN, 0};
  constexpr int kPatience = 60'000;  // milliseconds
  const ssize_t got =
      ::poll(&waited, 1, kPatience) > 0 ? ::recv(connection, answer.data(), answer.size(), 0) : 0;
  ::close(connection);
  answer.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return answer;
}

TEST(Profile, OfAServerNamesWhatRequestsWentThrough) {
  const Scratch scratch;
  Program server({"profile", "--output", scratch / "p", "--skip", "0", "--", "serve", "--hostname",
                  "127.0.0.1", "--port", "0", "--model", golden("bert-words")});
  int port = 0;
  while (port == 0) {
    const std::string line = server.read_error_line();
    ASSERT_FALSE(line.empty()) << "it does not listen";
    if (line.starts_with("listening on http://127.0.0.1:")) {
      port = std::stoi(line.substr(line.find_last_of(':') + 1));
    }
  }
  const std::string body = R"({"inputs": "the film was great"})";
  const std::string answer =
      answer_to(port, "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK")) << answer;
  server.signal(SIGTERM);
  const Finished done = server.finish();
  ASSERT_EQ(done.code, 0) << done.err;
  const Json profile = profile_in(scratch / "p");
  std::set<std::string> names;
  for (const Json& work : profile.at("overlapped")) names.insert(work.at("name"));
  for (const char* name : {"waiting for requests", "encoding", "forward", "answering"}) {
    EXPECT_TRUE(names.contains(name)) << name << ": " << profile.at("overlapped");
  }
  EXPECT_EQ(profile.at("facts").at("requests"), 1);
  EXPECT_GE(profile.at("facts").at("queue_s").get<double>(), 0);
  EXPECT_NE(done.err.find("1 requests waited"), std::string::npos) << done.err;
  const Json& ops = profile.at("ops");
  EXPECT_TRUE(std::any_of(ops.begin(), ops.end(), [](const Json& op) {
    return op.at("name") == "linear";
  })) << ops;
}

/// A disk that has no room for traces.
class NoRoomForTraces : public FileCallHook {
 public:
  NoRoomForTraces() { set_file_call_hook(this); }
  ~NoRoomForTraces() override { set_file_call_hook(nullptr); }
  std::optional<int> before(FileCall call, const std::string& path, const std::string&) override {
    if (call == FileCall::write && path.find("/trace.") != std::string::npos) return ENOSPC;
    return {};
  }
};

TEST(Profile, AFullDiskEndsTheTraceAndNotTheRun) {
  const Scratch scratch;
  const NoRoomForTraces full;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run(profiled(scratch / "p", small_run(scratch / "out", {"--max_steps", "2"})));
  testing::internal::GetCapturedStdout();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0) << said;
  EXPECT_NE(said.find("trace.pftrace: not written"), std::string::npos) << said;
  EXPECT_FALSE(file_exists(scratch / "p/trace.pftrace"));
  EXPECT_TRUE(file_exists(scratch / "p/report.html"));
  EXPECT_TRUE(file_exists(scratch / "out/model.safetensors"));
}

TEST(Profile, RefusesWhatItCannotProfile) {
  EXPECT_EQ(hone({"profile"}).code, 2);
  const Finished other = hone({"profile", "--", "tokenize"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("'tokenize'"), std::string::npos) << other.err;
  EXPECT_EQ(hone({"profile", "--window", "-1", "--", "train"}).code, 2);
}

}  // namespace
}  // namespace hone::cli

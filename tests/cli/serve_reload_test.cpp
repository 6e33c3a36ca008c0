// What SIGHUP loads anew, and that SIGTERM does not wait for it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "cli/serve_program.h"
#include "http/tls_client.h"

namespace hone::cli {
namespace {

using http::CertificateFolder;
using http::TlsClient;

const std::string kAskLabels = R"({"inputs": "the film"})";

/// Gives a folder's classifier other labels.
void rename_labels(const std::string& folder, const std::string& first, const std::string& second) {
  Json config = parse_json(read_file(folder + "/config.json"), "config.json");
  config["id2label"] = {{"0", first}, {"1", second}};
  config["label2id"] = {{first, 0}, {second, 1}};
  write_json(folder + "/config.json", config);
}

std::string labels_of(int port, const std::string& model) {
  return body_of_response(fetch(port, "POST", "/models/" + model + "/predict", kAskLabels));
}

TEST(ServeReload, LoadsEachModelAndKeepsThoseWhoseFolderIsBad) {
  Scratch scratch;
  const std::string first = scratch.copy("bert-words");
  const std::string second = scratch.copy("electra-projected");
  ServeProgram server({"--model", "first=" + first, "--model", "second=" + second});
  const std::string before = labels_of(server.port(), "first");
  EXPECT_NE(before.find("negative"), std::string::npos);
  std::filesystem::remove(first + "/config.json");
  rename_labels(second, "bad", "good");
  server.program().signal(SIGHUP);
  const std::string stays = server.program().read_error_line();
  EXPECT_TRUE(stays.starts_with("hone: model 'first': stays as it was: ")) << stays;
  EXPECT_EQ(server.program().read_error_line(), "hone: model 'second': loaded anew");
  EXPECT_EQ(labels_of(server.port(), "first"), before);
  EXPECT_NE(labels_of(server.port(), "second").find("good"), std::string::npos);
  server.program().signal(SIGTERM);
  EXPECT_EQ(server.program().finish().code, 0);
}

class ServeTls : public testing::Test {
 protected:
  ServeTls() { certificates_.make("first"); }
  Words with_tls(Words words) const {
    const http::TlsFiles files = certificates_.files();
    words.insert(words.end(), {"--tls-cert", files.certificate, "--tls-key", files.key});
    return words;
  }
  CertificateFolder certificates_;
};

uint16_t port_of(const ServeProgram& server) { return static_cast<uint16_t>(server.port()); }

TEST_F(ServeTls, SighupLoadsTheCertificateAnew) {
  ServeProgram server(with_tls({"--model", golden("bert-words")}));
  TlsClient before(port_of(server), TLS1_3_VERSION);
  ASSERT_TRUE(before.connected());
  EXPECT_EQ(before.server_name(), "first");
  certificates_.make("second");
  server.program().signal(SIGHUP);
  EXPECT_EQ(server.program().read_error_line(), "hone: certificate: loaded anew");
  EXPECT_EQ(TlsClient(port_of(server), TLS1_3_VERSION).server_name(), "second");
  before.send(request_text("GET", "/health"));
  EXPECT_EQ(before.receive(1).substr(0, 15), "HTTP/1.1 200 OK");
  server.program().read_error_line();  // the model's

  std::ofstream(certificates_.files().certificate) << "nonsense";
  server.program().signal(SIGHUP);
  const std::string stays = server.program().read_error_line();
  EXPECT_TRUE(stays.starts_with("hone: certificate: stays as it was: ")) << stays;
  EXPECT_EQ(TlsClient(port_of(server), TLS1_3_VERSION).server_name(), "second");
  EXPECT_TRUE(server.program().read_error_line().ends_with("loaded anew")) << "the model goes on";
}

/// A file whose readers wait until something is written, which nobody does.
class EndlessFile {
 public:
  explicit EndlessFile(const std::string& path) : path_(path) {
    std::filesystem::remove(path);
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  }
  ~EndlessFile() {
    if (writer_ >= 0) ::close(writer_);
  }
  EndlessFile(const EndlessFile&) = delete;
  EndlessFile& operator=(const EndlessFile&) = delete;
  /// Waits until somebody reads it; whether somebody did in time.
  bool is_read() {
    for (int i = 0; i < kSocketPatience && writer_ < 0; ++i) {
      writer_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      if (writer_ < 0) ::usleep(1000);
    }
    return writer_ >= 0;
  }

 private:
  std::string path_;
  int writer_ = -1;
};

/// Waits until the server takes no connections any more; whether that came.
bool stops_listening(const ServeProgram& server) {
  for (int i = 0; i < 3000; ++i) {
    if (!RawClient(server.port()).connected()) return true;
    ::usleep(10'000);
  }
  return false;
}

TEST_F(ServeTls, SigtermDrainsThoughAReloadIsUnderWay) {
  ServeProgram server(with_tls({"--model", golden("bert-words"), "--json-output",
                                "--header-seconds", "1000", "--body-seconds", "1000"}));
  TlsClient prober(port_of(server), TLS1_3_VERSION), client(port_of(server), TLS1_3_VERSION);
  ASSERT_TRUE(prober.connected() && client.connected());
  prober.send(request_text("GET", "/health"));
  EXPECT_EQ(prober.receive(1).substr(0, 15), "HTTP/1.1 200 OK");
  EndlessFile certificate(certificates_.files().certificate);
  server.program().signal(SIGHUP);
  ASSERT_TRUE(certificate.is_read());
  // Two requests have begun, the first one on a connection that was kept.
  const std::string probe = request_text("GET", "/health");
  prober.send(probe.substr(0, 10));
  const std::string asked = request_text("POST", "/predict", kAskLabels);
  client.send(asked.substr(0, asked.size() - 5));
  server.program().signal(SIGTERM);
  ASSERT_TRUE(stops_listening(server));
  prober.send(probe.substr(10));
  const std::string health = prober.receive(1 << 20);
  EXPECT_TRUE(health.starts_with("HTTP/1.1 503 ")) << health;
  EXPECT_NE(health.find("\r\nConnection: close\r\n"), std::string::npos) << health;
  client.send(asked.substr(asked.size() - 5));
  const std::string answer = client.receive(1 << 20);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
  const Finished finished = server.program().finish();
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(finished.objects().size(), 3u) << "the log is whole: " << finished.out;
}

}  // namespace
}  // namespace hone::cli

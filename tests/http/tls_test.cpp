// TLS, with certificates that the test makes.

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "http/test_handler.h"
#include "http/tls_client.h"

namespace hone::http {
namespace {

class HttpTls : public testing::Test {
 protected:
  HttpTls() {
    folder_.make("first");
    options_.tls = folder_.files();
    options_.header_time = std::chrono::seconds(5);
  }
  CertificateFolder folder_;
  ServerOptions options_ = test_options();
  TestHandler handler_;
};

TEST_F(HttpTls, ServesVersions12And13AloneAndKeepsConnections) {
  const auto server = open_server(options_, handler_);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(server->port(), version);
    ASSERT_TRUE(client.connected());
    for (int i = 0; i < 3; ++i) {
      client.send(get("/"));
      EXPECT_EQ(client.receive(1).substr(0, 15), "HTTP/1.1 200 OK");
    }
    client.send(get("/big?1000000", "Connection: close\r\n"));
    const std::string all = client.receive(10'000'000);
    EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), std::string(1'000'000, 'x'));
    EXPECT_TRUE(client.closed());
  }
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    EXPECT_FALSE(TlsClient(server->port(), version).connected());
  }
}

TEST_F(HttpTls, TakesBodiesOfManyRecordsAndFurtherRequests) {
  const auto server = open_server(options_, handler_);
  TlsClient client(server->port(), TLS1_3_VERSION);
  const std::string body(90'000, 'y');
  client.send(post("/echo", body) + get("/thread?abc"));
  std::string all = client.receive(90'000);
  while (all.find("abc") == std::string::npos) {
    const std::string more = client.receive(1);
    ASSERT_FALSE(more.empty());
    all += more;
  }
  EXPECT_NE(all.find(body), std::string::npos);
}

TEST_F(HttpTls, LoadsItsFilesAgainForConnectionsToCome) {
  const auto server = open_server(options_, handler_);
  TlsClient before(server->port(), TLS1_3_VERSION);
  EXPECT_EQ(before.server_name(), "first");
  folder_.make("second");
  server->reload_tls();
  EXPECT_EQ(TlsClient(server->port(), TLS1_3_VERSION).server_name(), "second");
  before.send(get("/"));
  EXPECT_EQ(before.receive(1).substr(0, 15), "HTTP/1.1 200 OK");

  std::ofstream(folder_.files().certificate) << "nonsense";
  EXPECT_THROW(server->reload_tls(), Error);
  EXPECT_EQ(TlsClient(server->port(), TLS1_3_VERSION).server_name(), "second");
}

TEST_F(HttpTls, BadFilesAreSaid) {
  const auto refusal = [&](const TlsFiles& files) -> std::string {
    ServerOptions options = options_;
    options.tls = files;
    try {
      open_server(options, handler_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const TlsFiles good = folder_.files();
  EXPECT_NE(refusal({good.certificate + ".none", good.key}).find("No such file"),
            std::string::npos);
  EXPECT_NE(refusal({good.certificate, good.certificate}).find(good.certificate),
            std::string::npos);
  CertificateFolder other;
  other.make("other");
  EXPECT_NE(refusal({good.certificate, other.files().key}).find(other.files().key),
            std::string::npos);
}

TEST_F(HttpTls, ThoseWhoDoNotSpeakItAreDropped) {
  options_.header_time = std::chrono::milliseconds(100);
  const auto server = open_server(options_, handler_);
  HttpClient plain(server->port()), silent(server->port());
  plain.send(get("/"));
  EXPECT_NE(plain.receive().status, 200);
  EXPECT_TRUE(silent.closed());
  TlsClient client(server->port(), TLS1_3_VERSION);
  client.send(get("/hold"));
  EXPECT_NE(handler_.take_held(), nullptr);
  EXPECT_EQ(client.receive(1).substr(0, 12), "HTTP/1.1 500");
}

TEST_F(HttpTls, DrainsAsPlainConnectionsDo) {
  const auto server = open_server(options_, handler_);
  TlsClient idle(server->port(), TLS1_3_VERSION);
  idle.send(get("/"));
  EXPECT_FALSE(idle.receive(1).empty());
  EXPECT_TRUE(server->drain(kPatience));
  EXPECT_TRUE(idle.closed());
}

}  // namespace
}  // namespace hone::http

// What keeps a server from being opened is one line.

#include "http/plugin.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/error.h"
#include "http/http_client.h"
#include "http/test_handler.h"

namespace hone::http {
namespace {

/// The message of the Error that a function throws; fails where it throws none or it has two lines.
template <typename Function>
std::string refusal_line(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    const std::string line = error.what();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    return line;
  }
  ADD_FAILURE() << "no Error";
  return {};
}

std::string refusal_of_options(const ServerOptions& options) {
  TestHandler handler;
  return refusal_line([&] { open_server(options, handler); });
}

TEST(HttpPlugin, AMissingOrOtherLibraryIsSaid) {
  EXPECT_NE(refusal_line([] { load_plugin("/nowhere/libhone_http.so"); }).find("/nowhere/"),
            std::string::npos);
  EXPECT_NE(
      refusal_line([] { load_plugin("libm.so.6"); }).find("libm.so.6 is not the HTTP library"),
      std::string::npos);
}

TEST(HttpPlugin, APortThatIsTakenIsSaid) {
  TestHandler handler;
  const auto server = open_server(test_options(), handler);
  ServerOptions options = test_options();
  options.port = server->port();
  const std::string line = refusal_of_options(options);
  EXPECT_NE(line.find("port: " + std::to_string(server->port())), std::string::npos) << line;
  EXPECT_NE(line.find("in use"), std::string::npos) << line;
}

TEST(HttpPlugin, AnAddressThatIsNoneIsSaid) {
  ServerOptions options = test_options();
  options.address = "300.1.1.1";
  EXPECT_NE(refusal_of_options(options).find("address: '300.1.1.1'"), std::string::npos);
}

TEST(HttpPlugin, AFileLimitThatIsTooLowIsSaid) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max == RLIM_INFINITY) GTEST_SKIP() << "the system has no limit of open files";
  ServerOptions options = test_options();
  options.connections = limit.rlim_max;
  EXPECT_NE(refusal_of_options(options).find("connections: "), std::string::npos);
}

TEST(HttpPlugin, OddOptionsAreSaid) {
  ServerOptions options = test_options();
  options.threads = 0;
  EXPECT_NE(refusal_of_options(options).find("threads: 0"), std::string::npos);
  options = test_options();
  options.connections = 0;
  EXPECT_NE(refusal_of_options(options).find("connections: 0"), std::string::npos);
  options = test_options();
  options.idle_time = std::chrono::milliseconds(0);
  EXPECT_NE(refusal_of_options(options).find("idle_time: 0 ms"), std::string::npos);
}

TEST(HttpPlugin, IPv6AndNamesAreAddresses) {
  for (const char* address : {"::1", "localhost"}) {
    TestHandler handler;
    ServerOptions options = test_options();
    options.address = address;
    try {
      const auto server = open_server(options, handler);
      EXPECT_NE(server->port(), 0);
    } catch (const Error& error) {
      // A machine without IPv6 says so.
      EXPECT_STREQ(address, "::1") << error.what();
    }
  }
}

}  // namespace
}  // namespace hone::http

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/serve_signals.h"
#include "http/http.h"
#include "report/report.h"

namespace hone::cli {
namespace {

constexpr int kRefreshSeconds = 5;

struct ReportFlags {
  std::string folder, html, csv, latex, svg;
  bool watch = false;
  int64_t port = 0;
};

/// Gives the page of a folder as it is now to whoever asks.
class PageHandler : public http::Handler {
 public:
  explicit PageHandler(std::string folder) : folder_(std::move(folder)) {}
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    const http::Request& request = exchange->request();
    if (request.path != "/" || (request.method != "GET" && request.method != "HEAD")) {
      return exchange->respond(refuse(request, 404, "only GET / is here"));
    }
    http::Response page{.content_type = "text/html; charset=utf-8"};
    page.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
    try {
      page.body = report::to_html(report::read_report(folder_), kRefreshSeconds);
    } catch (const Error& error) {
      // A run that has just begun has nothing to show yet; the page says so and asks again.
      report::Report empty{.title = "hone: nothing to show yet"};
      empty.facts.emplace_back("reason", error.what());
      page.body = report::to_html(empty, kRefreshSeconds);
    }
    exchange->respond(std::move(page));
  }
  http::Response refuse(const http::Request&, int status, std::string_view reason) override {
    return {.status = status, .content_type = "text/plain", .body = std::string(reason) + "\n"};
  }

 private:
  std::string folder_;
};

int watch_folder(const ReportFlags& flags) {
  std::signal(SIGPIPE, SIG_IGN);
  ServeSignals signals;
  if (!folder_exists(flags.folder)) {
    fail(ErrorKind::bad_file, "{}: is no folder", flags.folder);
  }
  PageHandler handler(flags.folder);
  http::ServerOptions options;
  options.address = "127.0.0.1";
  options.port = static_cast<uint16_t>(flags.port);
  options.connections = 64;
  const auto server = http::open_server(options, handler);
  signals.set_serving();
  fmt::print(stderr, "listening on http://127.0.0.1:{}\n", server->port());
  while (signals.wait() == ServeSignals::Order::reload) {
  }
  return kDone;
}

/// Writes files into a folder, which may be there; each appears complete or not at all.
void write_files(const std::vector<report::NamedText>& files, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "{}: {}", folder, error.message());
  for (const report::NamedText& file : files) write_file(folder + "/" + file.name, file.text);
}

int write_all(const ReportFlags& flags) {
  const report::Report made = report::read_report(flags.folder);
  std::vector<std::string> written;
  if (!flags.html.empty()) write_file(flags.html, report::to_html(made));
  if (!flags.latex.empty()) write_file(flags.latex, report::to_latex(made));
  if (!flags.csv.empty()) write_files(report::to_csv(made), flags.csv);
  if (!flags.svg.empty()) write_files(report::to_svgs(made), flags.svg);
  for (const std::string& path : {flags.html, flags.latex, flags.csv, flags.svg}) {
    if (!path.empty()) print(path + "\n");
  }
  return kDone;
}

}  // namespace

int report(const Words& words) {
  ReportFlags flags;
  Arguments arguments("report", "Show runs, profiles and studies of a folder as a page.");
  arguments.without_common();
  arguments.positional("DIR", flags.folder, "a run's folder, or one that holds several");
  arguments.text("--html", "FILE", flags.html, "one page; default DIR/report.html");
  arguments.text("--csv", "DIR", flags.csv, "a file for each table and picture");
  arguments.text("--latex", "FILE", flags.latex, "a document with all tables");
  arguments.text("--svg", "DIR", flags.svg, "a file for each picture");
  arguments.flag("--watch", flags.watch, "show the page on this machine while a run goes on");
  arguments.integer("--port", 0, 65535, flags.port, "of --watch; 0: a free one");
  arguments.example("hone report hone-run --html report.html --csv tables");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  if (flags.folder.empty()) fail(ErrorKind::usage, "DIR: missing; see hone report --help");
  if (flags.watch) return watch_folder(flags);
  if (flags.html.empty() && flags.csv.empty() && flags.latex.empty() && flags.svg.empty()) {
    flags.html = flags.folder + "/report.html";
  }
  return write_all(flags);
}

}  // namespace hone::cli

#include <fmt/core.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "load/driver.h"
#include "load/requests.h"

namespace hone::load {
namespace {

constexpr const char* kHelp =
    "Sends HTTP requests to a server on this machine at random moments (a Poisson process), times "
    "each from the moment at which it should have been sent, and prints what became of them.";
constexpr const char* kExample =
    "Example:\n  load_generator --port 3000 --path /predict --texts reviews.txt --template "
    "'{\"inputs\": $TEXT}' --rate 200 --seconds 10 --json\n";

Phase parse_phase(const std::string& text) {
  Phase phase;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%lf,%lf%c", &phase.rate, &phase.seconds, &rest) != 2 ||
      !(phase.rate >= 0) || !(phase.seconds > 0)) {
    fail(ErrorKind::usage, "--then: {} is not RATE,SECONDS", quote(text));
  }
  return phase;
}

void declare(CLI::App& app, Options& options) {
  app.add_option("--address", options.address, "the server's, of the loopback device");
  app.add_option("--port", options.port, "the server's")->required();
  app.add_option("--method", options.method, "of the requests")->capture_default_str();
  app.add_option("--path", options.path, "of the requests")->capture_default_str();
  app.add_option("--header", options.headers, "a further header, 'Name: value'");
  auto* bodies = app.add_option("--bodies", options.bodies, "a file of JSON lines, each a body");
  auto* texts = app.add_option("--texts", options.texts, "a file of lines for the template");
  auto* filled = app.add_option("--template", options.body_template,
                                "a body with $TEXT (one text), $TEXTS (a list), $COUNT");
  app.add_option("--batch", options.batch, "texts of a request")->check(CLI::PositiveNumber);
  app.add_option("--warmup", options.warmup, "seconds before that do not count");
  app.add_option("--connections", options.connections, "the most at one time")
      ->check(CLI::PositiveNumber);
  app.add_option("--closed", options.closed,
                 "connections that each send once they are answered, in place of a rate");
  app.add_option("--abandon", options.abandon, "the share of requests whose client leaves")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--drain", options.drain_seconds, "seconds to wait for the last answers");
  app.add_option("--max-lag-ms", options.max_lag_ms, "a later generator makes a run invalid");
  app.add_option("--seed", options.seed, "of the moments of sending");
  app.add_flag("--realtime", options.realtime, "run before other processes, where that is allowed");
  bodies->excludes(texts);
  texts->needs(filled);
  filled->needs(texts);
}

/// Whether the system granted it.
bool run_before_others() {
  sched_param parameters = {};
  parameters.sched_priority = 1;
  return sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

void print_line(const OrderedJson& phase) {
  fmt::print("{} sent, {} ok ({:.1f} texts/s), p50 {} ms, p99 {} ms, statuses {}, errors {}{}\n",
             phase["sent"].get<int64_t>(), phase["ok"].get<int64_t>(),
             phase["texts_per_second"].get<double>(), phase["accepted"]["p50_ms"].get<double>(),
             phase["accepted"]["p99_ms"].get<double>(), phase["statuses"].dump(),
             phase["errors"].dump(), phase["valid"].get<bool>() ? "" : " (invalid: sent too late)");
}

int main(int argc, char** argv) {
  CLI::App app(kHelp);
  app.footer(kExample);
  Options options;
  Phase first{0, 10};
  std::vector<std::string> later;
  bool json = false;
  declare(app, options);
  app.add_option("--rate", first.rate, "requests a second")->check(CLI::PositiveNumber);
  app.add_option("--seconds", first.seconds, "for which they are sent")->check(CLI::PositiveNumber);
  app.add_option("--then", later, "RATE,SECONDS: another rate behind the first; repeatable");
  app.add_flag("--json", json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  options.phases.push_back(first);
  for (const std::string& text : later) options.phases.push_back(parse_phase(text));
  if (options.closed == 0 && first.rate == 0)
    fail(ErrorKind::usage, "--rate or --closed is needed");
  const bool realtime = options.realtime && run_before_others();
  const RunResult result = run(options, read_requests(options));
  OrderedJson made = {{"loop", options.closed > 0 ? "closed" : "open"},
                      {"batch", options.batch},
                      {"seed", options.seed},
                      {"realtime", realtime},
                      {"connections", result.connections},
                      {"generator_processor_seconds", result.processor_seconds},
                      {"phases", OrderedJson::array()}};
  for (size_t i = 0; i < options.phases.size(); ++i) {
    made["phases"].push_back(summarize(result.phases[i], options.phases[i], options));
    if (!json) print_line(made["phases"].back());
  }
  if (json) fmt::print("{}\n", made.dump());
  return 0;
}

}  // namespace
}  // namespace hone::load

int main(int argc, char** argv) {
  try {
    return hone::load::main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "load_generator: {}\n", error.what());
    return 2;
  }
}

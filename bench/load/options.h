#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::load {

/// A stretch of a run with one rate of arrivals.
struct Phase {
  double rate = 0;     ///< requests a second
  double seconds = 0;  ///< time of intended moments
};

struct Options {
  std::string address = "127.0.0.1";  ///< loopback; anything else is refused
  uint16_t port = 0;
  std::string method = "POST";
  std::string path = "/";
  std::vector<std::string> headers;  ///< whole lines, "Name: value"
  std::string bodies;                ///< a file of JSON lines, each a request's body, or ...
  std::string texts;                 ///< ... a file of lines, each a text for the template
  std::string body_template;         ///< $TEXT, $TEXTS and $COUNT are replaced
  int batch = 1;                     ///< texts of a request
  double warmup = 0;          ///< seconds at the first phase's rate, before it, that do not count
  std::vector<Phase> phases;  ///< one after the other, without a break
  int connections = 1024;     ///< the most that are open at one time
  int closed = 0;             ///< connections that each send when they are answered; 0: open loop
  double abandon = 0;         ///< the share of requests whose connection is closed once it is sent
  double drain_seconds = 30;  ///< time for answers after the last moment of sending
  double max_lag_ms = 5;      ///< a run that sends later than that at p99 is invalid
  uint64_t seed = 1;
  bool realtime = false;  ///< asks the system to run the generator before other processes
};

}  // namespace hone::load

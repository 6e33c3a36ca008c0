#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::load {

/// Reads one HTTP/1.1 response at a time from a connection's bytes; keeps its head alone.
class ResponseParser {
 public:
  enum class State { head, body, chunk_size, chunk_data, trailer, until_close, done, malformed };

  /// Takes bytes as they came. What follows a complete response makes it malformed, since no
  /// second one was asked for.
  State feed(std::string_view bytes);
  /// The connection ended: whether that completes the response.
  bool end();
  /// Forgets the response, for the next one.
  void reset();

  State state() const { return state_; }
  bool begun() const { return begun_; }  ///< whether any byte came
  int status() const { return status_; }
  bool keep_alive() const { return keep_alive_; }
  bool retry_after() const { return retry_after_; }  ///< whether the header is there

 private:
  void take_head(std::string_view& bytes);
  void take_line(std::string_view& bytes);
  void take_data(std::string_view& bytes);
  void read_head();
  void read_field(std::string_view line);
  void end_line();

  State state_ = State::head;
  std::string text_;  ///< the head, or a line of the chunked coding, as far as it came
  int64_t left_ = 0;  ///< bytes of the body or chunk that are to come
  int status_ = 0;
  bool begun_ = false;
  bool chunked_ = false;
  bool has_length_ = false;
  bool keep_alive_ = true;
  bool retry_after_ = false;
};

}  // namespace hone::load

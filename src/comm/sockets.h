#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::comm {

/// An open socket, which is closed with it.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }

  /// Sends what the system takes now and removes it from the text. False where the other end is
  /// gone.
  bool send_some(std::string& bytes) const;
  /// Appends what has come. False where nothing more will.
  bool read_some(std::string& bytes) const;

 private:
  int descriptor_ = -1;
};

/// Where a process can be reached, and the word that shows who may.
struct Address {
  std::vector<std::string> hosts;  ///< addresses in digits
  uint16_t port = 0;
  std::string secret;
};

/// Who has come to a listener.
struct Guest {
  Socket socket = {};     ///< is not open where nobody has come
  std::string text = {};  ///< the text of the greeting
  std::string rest = {};  ///< what was sent behind the greeting and has been read already
};

/// A port of the system's choice, on which processes that know the secret are let in.
class Listener {
 public:
  /// Listens on all interfaces, or on the host's own alone.
  explicit Listener(bool loopback);
  const Address& address() const { return address_; }
  /// Waits for a process that knows the secret.
  Guest accept(double seconds);

 private:
  Socket socket_;
  Address address_;
};

/// Reaches a listener at one of its addresses, and sends the secret and a text of up to 200 bytes.
/// No socket is open where that did not work in the time.
Socket connect_to(const Address& address, const std::string& text, double seconds);

}  // namespace hone::comm

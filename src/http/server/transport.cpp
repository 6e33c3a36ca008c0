#include "http/server/transport.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace hone::http {
namespace {

IoResult socket_result(ssize_t returned, IoStatus when_blocked) {
  if (returned > 0) return {IoStatus::done, static_cast<size_t>(returned)};
  if (returned == 0) return {IoStatus::ended};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {when_blocked};
  return {IoStatus::failed};
}

}  // namespace

Transport::Transport(int socket, SslPtr ssl) : socket_(socket), ssl_(std::move(ssl)) {
  if (!ssl_) return;
  SSL_set_accept_state(ssl_.get());
  broken_ = SSL_set_fd(ssl_.get(), socket_) != 1;
}

IoResult Transport::result_of(int returned) {
  if (returned > 0) return {IoStatus::done, static_cast<size_t>(returned)};
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {IoStatus::want_read};
    case SSL_ERROR_WANT_WRITE:
      return {IoStatus::want_write};
    case SSL_ERROR_ZERO_RETURN:
      return {IoStatus::ended};
    default:
      broken_ = true;
      return {IoStatus::failed};
  }
}

IoResult Transport::handshake() {
  if (!ssl_) return {IoStatus::done};
  if (broken_) return {IoStatus::failed};
  ERR_clear_error();
  return result_of(SSL_do_handshake(ssl_.get()));
}

IoResult Transport::read(char* to, size_t size) {
  if (!ssl_) return socket_result(recv(socket_, to, size, 0), IoStatus::want_read);
  if (broken_) return {IoStatus::failed};
  ERR_clear_error();
  return result_of(SSL_read(ssl_.get(), to, static_cast<int>(std::min<size_t>(size, INT_MAX))));
}

IoResult Transport::write(std::string_view first, std::string_view second) {
  if (!ssl_) {
    iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                      {const_cast<char*>(second.data()), second.size()}};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = second.empty() ? 1 : 2;
    return socket_result(sendmsg(socket_, &message, MSG_NOSIGNAL), IoStatus::want_write);
  }
  if (broken_) return {IoStatus::failed};
  const std::string_view text = first.empty() ? second : first;
  ERR_clear_error();
  return result_of(
      SSL_write(ssl_.get(), text.data(), static_cast<int>(std::min<size_t>(text.size(), INT_MAX))));
}

void Transport::notify_close() {
  if (!ssl_ || broken_) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

void Transport::shut_down() {
  notify_close();
  shutdown(socket_, SHUT_WR);
}

void Transport::end() {
  notify_close();
  ssl_.reset();
}

}  // namespace hone::http

#include "http/server/tls.h"

#include <openssl/err.h>

#include <cstring>

#include "base/error.h"

namespace hone::http {
namespace {

/// The oldest of OpenSSL's complaints, which is the cause of the others; empties their queue.
std::string complaint() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "unknown reason";
}

/// Nobody is there to be asked for a password.
int no_password(char*, int, int, void*) { return -1; }

/// Agrees on HTTP/1.1 with a client that names the protocols it speaks.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*) {
  static constexpr unsigned char kProtocols[] = "\x08http/1.1\x08http/1.0";
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, kProtocols, sizeof kProtocols - 1, in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

Tls::ContextPtr Tls::load(const TlsFiles& files) {
  ERR_clear_error();
  ContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context) fail(ErrorKind::failed, "TLS cannot be set up: {}", complaint());
  SSL_CTX* const c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  SSL_CTX_set_options(
      c, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);  // Tickets are the client's to keep.
  // An idle connection holds no record buffers; a write may go on from another address.
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(c, no_password);
  SSL_CTX_set_alpn_select_cb(c, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(c, files.certificate.c_str()) != 1) {
    fail(ErrorKind::bad_file, "{}: no certificate in PEM: {}", files.certificate, complaint());
  }
  if (SSL_CTX_use_PrivateKey_file(c, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    fail(ErrorKind::bad_file, "{}: no key in PEM that fits the certificate {}: {}", files.key,
         files.certificate, complaint());
  }
  if (SSL_CTX_check_private_key(c) != 1) {
    fail(ErrorKind::bad_file, "{}: not the key of the certificate {}: {}", files.key,
         files.certificate, complaint());
  }
  return context;
}

Tls::Tls(TlsFiles files) : files_(std::move(files)), context_(load(files_)) {}

void Tls::reload() {
  ContextPtr loaded = load(files_);
  const std::lock_guard lock(mutex_);
  context_.swap(loaded);
}

SslPtr Tls::connection() {
  const std::lock_guard lock(mutex_);
  return SslPtr(SSL_new(context_.get()));
}

}  // namespace hone::http

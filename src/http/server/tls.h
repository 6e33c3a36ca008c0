#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>

#include "http/http.h"

namespace hone::http {

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslPtr = std::unique_ptr<SSL, SslFree>;

/// The certificate and key that connections are opened with. Any thread may use it.
class Tls {
 public:
  /// Files that cannot be read or do not belong together are an Error of one line.
  explicit Tls(TlsFiles files);
  /// Reads the files again; connections that are open keep what they have.
  void reload();
  /// The state of a connection to come; null where there is no memory for it.
  SslPtr connection();

 private:
  using ContextPtr = std::unique_ptr<SSL_CTX, SslFree>;
  static ContextPtr load(const TlsFiles& files);

  const TlsFiles files_;
  std::mutex mutex_;
  ContextPtr context_;  ///< the mutex guards it; a connection counts as one of its owners
};

}  // namespace hone::http

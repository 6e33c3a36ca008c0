#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <filesystem>
#include <string>

#include "http/http.h"
#include "http/http_client.h"

namespace hone::http {

/// A folder with a certificate and its key, which goes with the object.
class CertificateFolder {
 public:
  CertificateFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "hone_tls_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~CertificateFolder() { std::filesystem::remove_all(folder_); }

  TlsFiles files() const { return {folder_ / "certificate.pem", folder_ / "key.pem"}; }

  /// Writes a new key and a certificate for it, in the name of `name`.
  void make(const std::string& name) const {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, subject);
    X509_sign(certificate, key, EVP_sha256());
    const TlsFiles to = files();
    FILE* file = fopen(to.certificate.c_str(), "w");
    PEM_write_X509(file, certificate);
    fclose(file);
    file = fopen(to.key.c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }

 private:
  std::filesystem::path folder_;
};

/// A client under TLS of one version.
class TlsClient {
 public:
  TlsClient(uint16_t port, int version)
      : client_(port), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_security_level(context_, 0);  // so that it offers what is too old
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, client_.descriptor());
    connected_ = SSL_connect(ssl_) == 1;
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  bool connected() const { return connected_; }
  /// The name in the server's certificate.
  std::string server_name() const {
    X509* certificate = SSL_get1_peer_certificate(ssl_);
    char name[64] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                              sizeof name);
    X509_free(certificate);
    return name;
  }
  void send(const std::string& text) {
    EXPECT_EQ(SSL_write(ssl_, text.data(), static_cast<int>(text.size())),
              static_cast<int>(text.size()));
  }
  /// All that comes until `size` bytes are there or the server ends.
  std::string receive(size_t size) {
    std::string all;
    char buffer[16 * 1024];
    while (all.size() < size) {
      const int got = SSL_read(ssl_, buffer, sizeof buffer);
      if (got <= 0) break;
      all.append(buffer, static_cast<size_t>(got));
    }
    return all;
  }
  /// Whether the server ended TLS as it should.
  bool closed() {
    char byte;
    const int got = SSL_read(ssl_, &byte, 1);
    return SSL_get_error(ssl_, got) == SSL_ERROR_ZERO_RETURN;
  }

 private:
  HttpClient client_;
  SSL_CTX* context_;
  SSL* ssl_;
  bool connected_ = false;
};

}  // namespace hone::http

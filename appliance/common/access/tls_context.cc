// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/access/tls_context.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <string_view>

#include "appliance/common/access/certificate_name.h"
#include "appliance/common/access/revocations.h"

namespace rocescope {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using ErrorOf = boost::system::error_code;

constexpr const char* kTls12CipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20";

Status Wrong(std::string_view file, std::string_view what, const ErrorOf& error) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: {} ({})", file, what, error.message()));
}

Status LoadKey(const TlsTexts& texts, ssl::context& context) {
  ErrorOf error;
  context.use_private_key(asio::buffer(texts.key), ssl::context::pem, error);
  if (!error) return {};
  if (ERR_GET_REASON(static_cast<unsigned long>(error.value())) == X509_R_KEY_VALUES_MISMATCH) {
    return Wrong(texts.files.key,
                 fmt::format("the private key does not match the certificate in {}",
                             texts.files.certificate),
                 error);
  }
  return Wrong(texts.files.key, "expected an unencrypted private key in PEM format", error);
}

Status Load(const TlsTexts& texts, ssl::context& context) {
  ErrorOf error;
  // Without this callback, OpenSSL prompts for the password of a key on the terminal.
  context.set_password_callback([](size_t, ssl::context::password_purpose) { return ""; }, error);
  context.use_certificate_chain(asio::buffer(texts.certificate), error);
  if (error) return Wrong(texts.files.certificate, "expected a certificate in PEM format", error);
  if (const Status key = LoadKey(texts, context); !key) return key;
  context.add_certificate_authority(asio::buffer(texts.peer_ca), error);
  if (error) return Wrong(texts.files.client_ca, "expected a CA certificate in PEM format", error);
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  if (error) return Wrong("TLS", "cannot request the certificate of the peer", error);
  if (texts.crl.empty()) return {};
  auto revoked = Revocations::Parse(texts.crl, texts.peer_ca, texts.files.crl);
  if (!revoked) return tl::unexpected(revoked.error());
  // Called for each certificate of the chain.
  context.set_verify_callback(
      [revoked = *std::move(revoked)](bool is_valid, ssl::verify_context& chain) {
        const X509* const one = X509_STORE_CTX_get_current_cert(chain.native_handle());
        return is_valid && one != nullptr && !revoked->Contain(*one);
      },
      error);
  if (error) return Wrong("TLS", "cannot check certificates for revocation", error);
  return {};
}

Result<TlsContext> Make(const TlsTexts& texts, ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  // TLS 1.2 with forward secrecy and authenticated encryption only, like gRPC; TLS 1.3 has nothing
  // else. The peers agree on the newest common version.
  SSL_CTX_set_cipher_list(native, kTls12CipherSuites);
  // Resumed sessions would not present the certificate again.
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(native, 0);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // saves memory of idle connections
  if (const Status loaded = Load(texts, *context); !loaded) return tl::unexpected(loaded.error());
  return context;
}

std::string TextOf(const ASN1_STRING* value) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
          static_cast<size_t>(ASN1_STRING_length(value))};
}

std::string AddressText(const ASN1_OCTET_STRING* value) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int length = ASN1_STRING_length(value);
  if (length != 4 && length != 16) return "";
  inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), text.data(),
            text.size());
  return text.data();
}

std::string TextOf(const GENERAL_NAME& name) {
  switch (name.type) {
    case GEN_DNS:
      return ConfiguredName(CertificateNameType::kDns, TextOf(name.d.ia5));
    case GEN_EMAIL:
      return ConfiguredName(CertificateNameType::kEmail, TextOf(name.d.ia5));
    case GEN_URI:
      return ConfiguredName(CertificateNameType::kUri, TextOf(name.d.ia5));
    case GEN_IPADD:
      return ConfiguredName(CertificateNameType::kIp, AddressText(name.d.iPAddress));
    default:
      return "";
  }
}

// Returns false if the certificate has none.
bool AddAlternativeNames(const X509& certificate, std::vector<std::string>& names) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  if (!all || sk_GENERAL_NAME_num(all.get()) == 0) return false;
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    std::string name = TextOf(*sk_GENERAL_NAME_value(all.get(), i));
    if (!name.empty()) names.push_back(std::move(name));
  }
  return true;
}

void AddCommonName(const X509& certificate, std::vector<std::string>& names) {
  const X509_NAME* const subject = X509_get_subject_name(&certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return;
  unsigned char* text = nullptr;
  const int length =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (length > 0) {
    std::string name =
        ConfiguredName(CertificateNameType::kDns,
                       {reinterpret_cast<const char*>(text), static_cast<size_t>(length)});
    if (!name.empty()) names.push_back(std::move(name));
  }
  OPENSSL_free(text);
}

}  // namespace

Result<TlsContext> ServerTls(const TlsTexts& texts) {
  return Make(texts, ssl::context::tls_server);
}

Result<TlsContext> ClientTls(const TlsTexts& texts) {
  return Make(texts, ssl::context::tls_client);
}

std::vector<std::string> NamesOfPeer(const ssl_st& connection) {
  std::vector<std::string> names;
  const X509* const certificate = SSL_get0_peer_certificate(&connection);
  if (certificate == nullptr) return names;
  if (!AddAlternativeNames(*certificate, names)) AddCommonName(*certificate, names);
  return names;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/access/revocations.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <vector>

namespace rocescope {
namespace {

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeCrl {
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using X509Pointer = std::unique_ptr<X509, FreeX509>;
using CrlPointer = std::unique_ptr<X509_CRL, FreeCrl>;
using BioPointer = std::unique_ptr<BIO, FreeBio>;

BioPointer BioOf(std::string_view text) {
  return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// After the last part of a PEM text was read. Returns false if a part was damaged.
bool IsEndOfText() {
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return is_end;
}

// Empty if one of them is damaged.
std::vector<X509Pointer> CertificatesIn(std::string_view pem) {
  std::vector<X509Pointer> certificates;
  const BioPointer bio = BioOf(pem);
  ERR_clear_error();
  while (X509* const one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(one);
  }
  if (!IsEndOfText()) certificates.clear();
  return certificates;
}

Timestamp TimeOf(const ASN1_TIME* time) {
  std::tm fields{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &fields) != 1) return Timestamp::max();
  const int64_t seconds = timegm(&fields);
  // Beyond the range of Timestamp, for example in the year 9999 (RFC 5280, 4.1.2.5).
  constexpr int64_t kMost = ToNanoseconds(kLatestTime) / 1'000'000'000;
  return FromNanoseconds(std::clamp<int64_t>(seconds, 0, kMost) * 1'000'000'000);
}

bool IsSignedByOneOf(const std::vector<X509Pointer>& authorities, X509_CRL& list) {
  const bool is_signed = std::ranges::any_of(authorities, [&](const X509Pointer& authority) {
    return X509_NAME_cmp(X509_get_subject_name(authority.get()), X509_CRL_get_issuer(&list)) == 0 &&
           X509_CRL_verify(&list, X509_get0_pubkey(authority.get())) == 1;
  });
  ERR_clear_error();
  return is_signed;
}

}  // namespace

struct Revocations::Lists {
  std::vector<CrlPointer> all;
};

Revocations::Revocations() : lists_(std::make_unique<Lists>()) {}
Revocations::~Revocations() = default;

Result<std::shared_ptr<const Revocations>> Revocations::Parse(const std::string& lists,
                                                              const std::string& authorities,
                                                              const std::string& file) {
  const std::vector<X509Pointer> signers = CertificatesIn(authorities);
  const BioPointer bio = BioOf(lists);
  std::shared_ptr<Revocations> result(new Revocations);
  ERR_clear_error();
  while (X509_CRL* const one = PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)) {
    CrlPointer list(one);
    if (!IsSignedByOneOf(signers, *list)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: the certificate revocation list is not signed by the CA in "
                                   "client_ca",
                                   file));
    }
    result->next_update_ =
        std::min(result->next_update_, TimeOf(X509_CRL_get0_nextUpdate(list.get())));
    result->lists_->all.push_back(std::move(list));
  }
  if (!IsEndOfText() || result->lists_->all.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: expected certificate revocation lists in PEM format", file));
  }
  return result;
}

bool Revocations::Contain(const x509_st& certificate) const {
  const X509_NAME* const issuer = X509_get_issuer_name(&certificate);
  return std::ranges::any_of(lists_->all, [&](const CrlPointer& list) {
    if (X509_NAME_cmp(issuer, X509_CRL_get_issuer(list.get())) != 0) return false;
    X509_REVOKED* entry = nullptr;
    constexpr int kRevoked = 1;  // 2: removed from the list again
    return X509_CRL_get0_by_serial(list.get(), &entry, X509_get0_serialNumber(&certificate)) ==
           kRevoked;
  });
}

bool Revocations::ContainPem(std::string_view certificate) const {
  const std::vector<X509Pointer> parsed = CertificatesIn(certificate);
  return parsed.empty() ||
         std::ranges::any_of(parsed, [this](const X509Pointer& one) { return Contain(*one); });
}

namespace {

Error NoCertificateIn(const std::string& file) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = fmt::format("{}: expected a certificate in PEM format", file)};
}

}  // namespace

Result<Validity> ValidityOf(const std::string& certificates, const std::string& file) {
  const std::vector<X509Pointer> parsed = CertificatesIn(certificates);
  if (parsed.empty()) return tl::unexpected(NoCertificateIn(file));
  return Validity{.begin = TimeOf(X509_get0_notBefore(parsed.front().get())),
                  .end = TimeOf(X509_get0_notAfter(parsed.front().get()))};
}

Result<CertificateTimes> TimesOf(const std::string& certificates, const std::string& file) {
  constexpr Duration kLongest = std::chrono::hours(24 * 14);
  const std::vector<X509Pointer> parsed = CertificatesIn(certificates);
  if (parsed.empty()) return tl::unexpected(NoCertificateIn(file));
  CertificateTimes times;
  for (const X509Pointer& one : parsed) {
    const Timestamp expires = TimeOf(X509_get0_notAfter(one.get()));
    const Duration lifetime = expires - TimeOf(X509_get0_notBefore(one.get()));
    times.expires = std::min(times.expires, expires);
    times.renew_by = std::min(times.renew_by, expires - std::min(lifetime / 5, kLongest));
  }
  return times;
}

}  // namespace rocescope

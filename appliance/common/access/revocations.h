// SPDX-License-Identifier: BSD-3-Clause
// Certificates that their authority has revoked (RFC 5280).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"

struct x509_st;

namespace rocescope {

// Certificate revocation lists. Thread-safe.
class Revocations {
 public:
  // Parses one or more lists in PEM format. Each must be signed by one of the `authorities` (PEM).
  // The error names `file`.
  static Result<std::shared_ptr<const Revocations>> Parse(const std::string& lists,
                                                          const std::string& authorities,
                                                          const std::string& file);
  ~Revocations();
  Revocations(const Revocations&) = delete;

  bool Contain(const x509_st& certificate) const;
  // Returns true also for text that is not a certificate in PEM format.
  bool ContainPem(std::string_view certificate) const;

  // When the authority promised the next list; the earliest of all lists. Lists stay in effect
  // afterwards. Timestamp::max(): the lists do not say it.
  Timestamp next_update() const { return next_update_; }

 private:
  struct Lists;
  Revocations();

  std::unique_ptr<Lists> lists_;
  Timestamp next_update_ = Timestamp::max();
};

// The current lists, which a reload replaces. Thread-safe.
class CurrentRevocations {
 public:
  // Null: no certificate is revoked.
  void Set(std::shared_ptr<const Revocations> lists) {
    const std::lock_guard lock(mutex_);
    lists_ = std::move(lists);
  }
  std::shared_ptr<const Revocations> Get() const {
    const std::lock_guard lock(mutex_);
    return lists_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Revocations> lists_;
};

// The earliest times of one or more certificates.
struct CertificateTimes {
  Timestamp expires = Timestamp::max();
  // When to renew at the latest: before the last fifth of its lifetime, at most 14 days before the
  // end.
  Timestamp renew_by = Timestamp::max();
};

// The times of the certificates in this PEM text. The error names `file`.
Result<CertificateTimes> TimesOf(const std::string& certificates, const std::string& file);

struct Validity {
  Timestamp begin;
  Timestamp end;
};
// The validity of the first certificate in this PEM text, which is the one of the server itself.
// The error names `file`.
Result<Validity> ValidityOf(const std::string& certificates, const std::string& file);

}  // namespace rocescope

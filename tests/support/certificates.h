// SPDX-License-Identifier: BSD-3-Clause
// Certificates for TLS tests, created with the program openssl.
#pragma once

#include <filesystem>
#include <string>

namespace rocescope::test {

// A certificate authority in a directory. Sign creates NAME.pem and NAME.key.
class Certificates {
 public:
  // Creates ca.pem and ca.key.
  explicit Certificates(std::filesystem::path folder);

  // `more` contains arguments of `openssl req`, such as "-addext subjectAltName=DNS:appliance".
  // Negative `days`: expired.
  void Sign(const std::string& name, const std::string& more, std::string common_name = "",
            int days = 2) const;
  // Revokes NAME.pem, and writes the list of all revoked certificates to crl.pem.
  void Revoke(const std::string& name) const;
  std::string Path(const std::string& file) const { return (folder_ / file).string(); }
  std::string Read(const std::string& file) const;

 private:
  void Run(const std::string& command) const;

  std::filesystem::path folder_;
};

}  // namespace rocescope::test

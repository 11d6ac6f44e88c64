// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/certificates.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

namespace rocescope::test {

Certificates::Certificates(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
      "-subj /CN=ca -keyout ca.key -out ca.pem");
}

void Certificates::Sign(const std::string& name, const std::string& more, std::string common_name,
                        int days) const {
  if (common_name.empty()) common_name = name;
  Run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + common_name +
      " " + more + " -keyout " + name + ".key -out " + name + ".csr");
  Run("openssl x509 -req -copy_extensions copy -days " + std::to_string(days) +
      " -CA ca.pem -CAkey ca.key -CAcreateserial -in " + name + ".csr -out " + name + ".pem");
}

void Certificates::Revoke(const std::string& name) const {
  std::ofstream(folder_ / "crl.cnf") << "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\n"
                                        "crlnumber = crlnumber\ndefault_md = sha256\n"
                                        "default_crl_days = 1\n";
  Run("touch index.txt; test -e crlnumber || echo 01 > crlnumber");
  const std::string ca = "openssl ca -config crl.cnf -keyfile ca.key -cert ca.pem ";
  Run(ca + "-revoke " + name + ".pem");
  Run(ca + "-gencrl -out crl.pem");
}

std::string Certificates::Read(const std::string& file) const {
  std::ifstream in(folder_ / file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Certificates::Run(const std::string& command) const {
  const std::string quiet = "cd " + folder_.string() + " && " + command + " 2>/dev/null";
  ASSERT_EQ(std::system(quiet.c_str()), 0) << command;
}

}  // namespace rocescope::test

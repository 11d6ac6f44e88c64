// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/tar_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace rocescope {
namespace {

constexpr size_t kTarBlock = 512;

// Fields of a header: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, "ustar
// Interchange Format".
struct TarField {
  size_t at;
  size_t bytes;
};
constexpr TarField kTarName = {0, 100};
constexpr TarField kTarMode = {100, 8};
constexpr TarField kTarUser = {108, 8};
constexpr TarField kTarGroup = {116, 8};
constexpr TarField kTarSize = {124, 12};
constexpr TarField kTarTime = {136, 12};
constexpr TarField kTarChecksum = {148, 8};
constexpr size_t kTarType = 156;
constexpr TarField kTarMagic = {257, 8};
constexpr uint64_t kMostTarBytes = (uint64_t{1} << 33) - 1;  // 11 octal digits

void Put(std::string& header, TarField field, std::string_view text) {
  header.replace(field.at, std::min(text.size(), field.bytes), text.substr(0, field.bytes));
}

// Octal digits, and a NUL that the header has already.
void PutNumber(std::string& header, TarField field, uint64_t value) {
  Put(header, field, fmt::format("{:0{}o}", value, field.bytes - 1));
}

std::string HeaderOf(const TarFile& file, uint64_t seconds) {
  std::string header(kTarBlock, '\0');
  Put(header, kTarName, file.name);
  PutNumber(header, kTarMode, 0600);
  PutNumber(header, kTarUser, 0);
  PutNumber(header, kTarGroup, 0);
  PutNumber(header, kTarSize, file.content.size());
  PutNumber(header, kTarTime, seconds);
  header[kTarType] = '0';
  Put(header, kTarMagic, std::string_view("ustar\00000", kTarMagic.bytes));
  // The sum of all bytes, with spaces in the place of the checksum; six digits, NUL, space.
  Put(header, kTarChecksum, "        ");
  uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  Put(header, kTarChecksum, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header;
}

}  // namespace

Result<std::string> MakeTar(std::span<const TarFile> files, Timestamp time) {
  const auto seconds =
      static_cast<uint64_t>(std::max<int64_t>(ToNanoseconds(time) / 1'000'000'000, 0));
  std::string archive;
  for (const TarFile& file : files) {
    if (file.name.empty() || file.name.size() > kTarName.bytes ||
        file.content.size() > kMostTarBytes) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: name or content is too long for an archive", file.name));
    }
    archive += HeaderOf(file, std::min(seconds, kMostTarBytes));
    archive += file.content;
    archive.resize((archive.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
  }
  archive.append(2 * kTarBlock, '\0');
  return archive;
}

}  // namespace rocescope

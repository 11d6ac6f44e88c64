// SPDX-License-Identifier: BSD-3-Clause
// Compares a header's writer and reader with bytes assembled by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::test {

template <typename Header>
std::vector<uint8_t> Encoded(const Header& header) {
  std::array<uint8_t, 512> room{};
  wire::ByteWriter out(room);
  Write(out, header);
  return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(out.offset())};
}

template <typename Header>
Header Decoded(std::span<const uint8_t> bytes) {
  wire::ByteReader in(bytes);
  Header header;
  Read(in, header);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
  return header;
}

// Writing `header` gives `golden`, and reading `golden` gives a header that writes the same bytes.
template <typename Header>
void ExpectGolden(const Header& header, const std::vector<uint8_t>& golden) {
  EXPECT_EQ(Encoded(header), golden);
  EXPECT_EQ(Encoded(Decoded<Header>(golden)), golden);
}

// Every prefix of `golden` that is too short is rejected.
template <typename Header>
void ExpectShortReadsFail(const std::vector<uint8_t>& golden) {
  for (size_t size = 0; size < golden.size(); ++size) {
    const std::vector<uint8_t> prefix(golden.begin(),
                                      golden.begin() + static_cast<std::ptrdiff_t>(size));
    wire::ByteReader in(prefix);
    Header header;
    Read(in, header);
    EXPECT_FALSE(in.ok()) << size << " octets";
  }
}

}  // namespace rocescope::test

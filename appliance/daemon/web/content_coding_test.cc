// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/content_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace rocescope {
namespace {

std::string Unpack(const std::string& packed, size_t most) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  std::string out(most, '\0');
  std::string in = packed;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::string HeaderOf(const HttpResponse& response, const std::string& name) {
  for (const auto& [header, value] : response.headers) {
    if (header == name) return value;
  }
  return "";
}

// Examples of RFC 9110, section 12.5.3, and headers of browsers.
TEST(AcceptsGzipTest, FollowsTheWeights) {
  for (const char* accepted : {"gzip", "GZIP", "compress, gzip", "compress;q=0.5, gzip;q=1.0",
                               "gzip;q=0.001", "*", "gzip;q=1.0, identity; q=0.5, *;q=0",
                               "gzip, deflate, br, zstd", "x-gzip", "br,\tgzip ; q=1"}) {
    EXPECT_TRUE(AcceptsGzip(accepted)) << accepted;
  }
  for (const char* refused : {"", "br", "identity", "gzip;q=0", "gzip; q=0.000", "*;q=0",
                              "*, gzip;q=0", "gzippy", ",", ";", "gzip ;q=0,"}) {
    EXPECT_FALSE(AcceptsGzip(refused)) << refused;
  }
}

TEST(ContentCodingTest, CompressesAndAnswersNotModified) {
  const std::string body(5000, 'x');
  HttpResponse response = {.body = body};
  ApplyContentCoding({.accept_encoding = "gzip"}, response);
  EXPECT_EQ(HeaderOf(response, "Content-Encoding"), "gzip");
  EXPECT_EQ(HeaderOf(response, "Vary"), "Accept-Encoding");
  EXPECT_LT(response.body.size(), 200u);
  EXPECT_EQ(Unpack(response.body, 10'000), body);

  HttpResponse plain = {.body = body};
  ApplyContentCoding({}, plain);
  EXPECT_EQ(HeaderOf(plain, "Content-Encoding"), "");
  EXPECT_EQ(plain.body, body);
  const std::string tag = HeaderOf(plain, "ETag");
  EXPECT_EQ(tag, HeaderOf(response, "ETag"));

  HttpResponse again = {.body = body};
  ApplyContentCoding({.if_none_match = "\"other\", " + tag, .accept_encoding = "gzip"}, again);
  EXPECT_EQ(again.status, 304u);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(HeaderOf(again, "ETag"), tag);

  HttpResponse changed = {.body = body + "y"};
  ApplyContentCoding({.if_none_match = tag}, changed);
  EXPECT_EQ(changed.status, 200u);
}

TEST(ContentCodingTest, LeavesShortBodiesErrorsAndStreamsAlone) {
  HttpResponse brief = {.body = "{}"};
  ApplyContentCoding({.accept_encoding = "gzip"}, brief);
  EXPECT_EQ(brief.body, "{}");
  HttpResponse error = {.status = 404, .body = std::string(5000, 'x')};
  ApplyContentCoding({.accept_encoding = "gzip"}, error);
  EXPECT_TRUE(error.headers.empty());
  HttpResponse stream = {.body = std::string(5000, 'x'), .stream = [] { return std::string(); }};
  ApplyContentCoding({.accept_encoding = "gzip"}, stream);
  EXPECT_TRUE(stream.headers.empty());
}

TEST(ContentCodingTest, BytesThatCannotBeCompressedSurvive) {
  std::string noise;
  for (uint32_t i = 0, state = 1; i < 100'000; ++i) {
    state = state * 1664525 + 1013904223;
    noise.push_back(static_cast<char>(state >> 24));
  }
  EXPECT_EQ(Unpack(Gzip(noise), 200'000), noise);
}

}  // namespace
}  // namespace rocescope

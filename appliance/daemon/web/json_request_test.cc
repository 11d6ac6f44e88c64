// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/json_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "appliance/api/message_value.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

// The error message; empty: none.
template <typename Request>
std::string ErrorIn(const std::string& body, Request& request) {
  const ServiceStatus status = FillFromJson(body, request);
  return status ? "" : status.error().message;
}
std::string ErrorIn(const std::string& body) {
  v1::MuteFindingsRequest request;
  return ErrorIn(body, request);
}

TEST(JsonRequest, SetsTheFields) {
  v1::MuteFindingsRequest mute;
  EXPECT_EQ(ErrorIn(R"( {"kind": "flap", "place": "a\u00e9\"b", "duration": "7200s",
                         "comment": null} )",
                    mute),
            "");
  EXPECT_EQ(mute.kind(), "flap");
  EXPECT_EQ(mute.place(), "a\xc3\xa9\"b");
  EXPECT_EQ(Nanoseconds(mute.duration()), 7'200'000'000'000);
  EXPECT_EQ(mute.comment(), "");
  v1::AcknowledgeFindingRequest acknowledge;
  EXPECT_EQ(ErrorIn(R"({"start_time": "2026-01-31T12:00:00.5Z"})", acknowledge), "");
  EXPECT_EQ(ToText(acknowledge.start_time()), "2026-01-31T12:00:00.500Z");
  v1::ListMutesRequest list;
  EXPECT_EQ(ErrorIn(R"({"page_size": 7, "show_expired": true})", list), "");
  EXPECT_EQ(list.page_size(), 7);
  EXPECT_TRUE(list.show_expired());
  v1::EndJobRequest end;
  EXPECT_EQ(ErrorIn(R"({"scheduler_job_id": "18446744073709551615"})", end), "");
  EXPECT_EQ(end.scheduler_job_id(), UINT64_MAX);
  EXPECT_EQ(ErrorIn(R"({"scheduler_job_id": 7})", end), "");
  EXPECT_EQ(end.scheduler_job_id(), 7u);
  EXPECT_EQ(ErrorIn("{}"), "");
}

TEST(JsonRequest, RefusesWhatIsNotAnObject) {
  for (const char* body :
       {"", " ", "{", "null", "7", "[]", "\"flap\"", "{\"kind\":\"flap\"}}", "{'kind':'flap'}",
        "{\"kind\":\"\xff\"}", "{\"kind\":\"\\ud800\"}", "{\"kind\":NaN}", "kind=flap"}) {
    EXPECT_THAT(ErrorIn(body), HasSubstr("expected a JSON object in UTF-8")) << body;
  }
  std::string deep = "{\"kind\":";
  deep += std::string(8000, '[') + std::string(8000, ']') + "}";
  EXPECT_THAT(ErrorIn(deep), HasSubstr("a field is a list or an object"));
  EXPECT_THAT(ErrorIn("{\"kind\":\"" + std::string(kMaxJsonBody, 'x') + "\"}"),
              HasSubstr("exceeds 16384 bytes"));
}

TEST(JsonRequest, NamesTheWrongField) {
  EXPECT_THAT(ErrorIn(R"({"knid": "flap"})"),
              HasSubstr("unknown field \"knid\"; did you mean \"kind\"?"));
  EXPECT_THAT(ErrorIn(R"({"kind": 7})"), HasSubstr("kind: expected a text, found 7"));
  EXPECT_THAT(ErrorIn(R"({"kind": true})"), HasSubstr("kind: expected a text"));
  EXPECT_THAT(ErrorIn(R"({"kind": ["flap"]})"), HasSubstr("a field is a list or an object"));
  EXPECT_THAT(ErrorIn(R"({"kind": {"kind": "flap"}})"), HasSubstr("a list or an object"));
  EXPECT_THAT(ErrorIn(R"({"kind": "flap", "kind": "flap"})"),
              HasSubstr("kind: expected one value, found several"));
  EXPECT_THAT(ErrorIn(R"({"duration": 7200})"),
              HasSubstr("duration: expected a duration such as 60s, found 7200"));
  EXPECT_THAT(ErrorIn(R"({"duration": "2h"})"), HasSubstr("duration: expected a duration"));
  v1::ListMutesRequest list;
  EXPECT_THAT(ErrorIn(R"({"show_expired": "true"})", list), HasSubstr("true or false"));
  EXPECT_THAT(ErrorIn(R"({"page_size": 2147483648})", list), HasSubstr("page_size: expected"));
  EXPECT_THAT(ErrorIn(R"({"page_size": 1.5})", list), HasSubstr("page_size: expected"));
}

TEST(JsonRequest, ContentTypeIsJson) {
  for (const char* type :
       {"application/json", "Application/JSON; charset=utf-8", "application/json ;x"}) {
    EXPECT_TRUE(IsJson(type)) << type;
  }
  for (const char* type :
       {"", "text/plain", "application/x-www-form-urlencoded", "application/jsonp",
        "text/plain; application/json", "multipart/form-data"}) {
    EXPECT_FALSE(IsJson(type)) << type;
  }
}

}  // namespace
}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/web.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "appliance/daemon/service/service_fixture.h"
#include "appliance/daemon/service/tenant_fixture.h"
#include "appliance/daemon/web/json_api.h"
#include "appliance/daemon/web/stored_page.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

class WebTest : public ServiceTest {
 protected:
  HttpResponse Get(const std::string& target) { return Ask({.method = "GET", .target = target}); }
  HttpResponse Ask(HttpRequest request) {
    request.caller = caller_;
    return WebHandler(*service_)(request);
  }
  nlohmann::json Json(const std::string& target, unsigned status = 200) {
    const HttpResponse response = Get(target);
    EXPECT_EQ(response.status, status) << target;
    EXPECT_EQ(response.content_type, "application/json");
    return nlohmann::json::parse(response.body);
  }
  nlohmann::json ErrorOf(const std::string& target, unsigned status) {
    const nlohmann::json error = Json(target, status)["error"];
    EXPECT_EQ(error["code"], status);
    return error;
  }
  std::string ReasonOf(const std::string& target, unsigned status) {
    return ErrorOf(target, status)["details"][0]["reason"];
  }
  std::string MessageOf(const std::string& target, unsigned status) {
    return ErrorOf(target, status)["message"];
  }

  Caller caller_ = LocalCaller();
};

TEST_F(WebTest, EveryCallAnswers) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  for (const char* path : {"health", "sources", "jobs", "jobs/4711", "topology", "links",
                           "paths?source=host0&destination=host1", "hotspots?page_size=3",
                           "node-switches", "findings", "anomalies", "service-levels", "problems",
                           "dependencies?question=QUESTION_NEEDS&element=nccl-1",
                           "dependencies?question=QUESTION_BLAST_RADIUS&element=spine0"}) {
    EXPECT_TRUE(Json(std::string("/api/v1/") + path).is_object()) << path;
  }
}

TEST_F(WebTest, PlacementAcceptsHostLists) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  const auto ranked = Json(
      "/api/v1/"
      "recommended-nodes?node_count=1&allow_missing_telemetry=true&candidate_nodes=host[1-3]"
      "&excluded_nodes=host1,host3");
  EXPECT_EQ(ranked["chosen_nodes"], nlohmann::json({"host2"}));
  EXPECT_EQ(ranked["candidates"].size(), 1u);
  EXPECT_EQ(ReasonOf("/api/v1/recommended-nodes?node_count=1&candidate_nodes=host7", 404),
            "UNKNOWN_NODE");
  EXPECT_EQ(ReasonOf("/api/v1/recommended-nodes?node_count=1", 503), "NO_DATA_YET");
  EXPECT_EQ(ReasonOf("/api/v1/recommended-nodes", 400), "BAD_REQUEST");
  EXPECT_EQ(Json("/api/v1/registered-jobs?show_ended=true")["registered_jobs"].size(), 0u);
  EXPECT_THAT(MessageOf("/api/v1/registered-jobs?show_ended=1", 400),
              HasSubstr("show_ended: expected true or false, found \"1\""));
  EXPECT_EQ(ReasonOf("/api/v1/registered-jobs/7", 404), "UNKNOWN_JOB");
}

// Each path with each parameter of the document is answered, or refused for another reason than an
// unknown path or parameter.
TEST_F(WebTest, TheOpenApiDocumentHasEveryPathAndParameter) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  const auto document = Json("/api/v1/openapi.json");
  EXPECT_EQ(document["openapi"], "3.1.0");
  v1::RegisterJobRequest job;
  job.set_scheduler_job_id(7);
  job.add_nodes()->set_node("host0");
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  std::vector<std::string> paths;
  for (const auto& [path, item] : document["paths"].items()) {
    paths.push_back(path);
    if (path == "/api/v1/events") continue;  // does not end
    std::string target = path;
    if (const size_t brace = path.find('{'); brace != std::string::npos) {
      target = path.substr(0, brace) + (path.ends_with("{job_id}") ? "nccl-1" : "7");
    }
    if (item.contains("post")) {
      EXPECT_EQ(Get(target).status, 405u) << target;
      EXPECT_EQ(
          Ask({.method = "POST", .target = target, .content_type = "application/json"}).status,
          400u)
          << target;
      continue;
    }
    EXPECT_NE(Get(target).status, 404u) << target;
    for (const auto& parameter : item["get"].value("parameters", nlohmann::json::array())) {
      if (parameter["in"] != "query") continue;
      const std::string name = parameter["name"];
      const HttpResponse response = Get(target + "?" + name + "=1");
      EXPECT_THAT(response.body, Not(HasSubstr("unknown parameter"))) << target << ' ' << name;
    }
  }
  EXPECT_THAT(paths, testing::UnorderedElementsAreArray(JsonPaths()));
}

class PostTest : public WebTest {
 protected:
  HttpResponse Post(const std::string& method, const std::string& body,
                    const std::string& type = "application/json") {
    return Ask({.method = "POST",
                .target = "/api/v1/findings:" + method,
                .content_type = type,
                .body = body});
  }
  static std::string ReasonIn(const HttpResponse& response) {
    return nlohmann::json::parse(response.body)["error"]["details"][0]["reason"];
  }
  static constexpr const char* kMute = R"({"kind": "flap", "place": "spine0", "duration": "60s"})";
};

TEST_F(PostTest, MutesAndUnmutes) {
  OpenDaemon(kFabric);
  const HttpResponse muted = Post("mute", kMute);
  EXPECT_EQ(muted.status, 200u) << muted.body;
  EXPECT_THAT(muted.headers, ElementsAre(Pair("Cache-Control", "no-store")));
  const auto body = nlohmann::json::parse(muted.body);
  EXPECT_EQ(body["mute"]["user"], "local");
  EXPECT_EQ(body["durable"], false);
  EXPECT_EQ(Json("/api/v1/mutes")["mutes"].size(), 1u);
  EXPECT_EQ(Post("unmute", R"({"kind": "flap", "place": "spine0"})").status, 200u);
  EXPECT_EQ(Json("/api/v1/mutes")["mutes"].size(), 0u);
  EXPECT_EQ(ReasonIn(Post("unmute", R"({"kind": "flap", "place": "spine0"})")), "UNKNOWN_FINDING");
  EXPECT_EQ(ReasonIn(Post("acknowledge", R"({"kind": "flap", "place": "spine0"})")),
            "NO_SNAPSHOT_YET");
}

TEST_F(PostTest, RefusesOtherContentTypesMethodsAndParameters) {
  OpenDaemon(kFabric);
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded"}) {
    EXPECT_EQ(Post("mute", kMute, type).status, 415u) << type;
  }
  EXPECT_EQ(Post("mute?comment=x", kMute).status, 400u);
  EXPECT_EQ(Post("mutee", kMute).status, 404u);
  const HttpResponse get = Get("/api/v1/findings:mute");
  EXPECT_EQ(get.status, 405u);
  EXPECT_THAT(get.headers, Contains(Pair("Allow", "POST")));
  const HttpResponse post =
      Ask({.method = "POST", .target = "/api/v1/mutes", .content_type = "application/json"});
  EXPECT_EQ(post.status, 405u);
  EXPECT_THAT(post.headers, Contains(Pair("Allow", "GET, HEAD")));
  EXPECT_EQ(Ask({.method = "POST", .target = "/metrics"}).status, 405u);
  EXPECT_EQ(Ask({.method = "POST", .target = "/"}).status, 405u);
  EXPECT_EQ(Json("/api/v1/mutes")["mutes"].size(), 0u);
}

TEST_F(PostTest, OnlyOperatorsMayChange) {
  OpenDaemon(kFabric);
  for (const CallerRole role : {CallerRole::kViewer, CallerRole::kScheduler, CallerRole::kTenant}) {
    caller_ = {.name = "eve", .roles = Of(role), .users = {}};
    const HttpResponse refused = Post("mute", kMute);
    EXPECT_EQ(refused.status, 403u);
    EXPECT_EQ(ReasonIn(refused), "NOT_ALLOWED");
  }
  caller_ = {.name = "ada", .roles = Of(CallerRole::kOperator), .users = {}};
  EXPECT_EQ(nlohmann::json::parse(Post("mute", kMute).body)["mute"]["user"], "ada");
}

// A client that has a response with an ETag must see a change.
TEST_F(PostTest, EtagChangesWithTheMute) {
  OpenDaemon(kFabric);
  const topology::Fabric& fabric = *daemon_->fabric();
  const auto nic = fabric.NicsOf(fabric.FindNode("host0")).front();
  Snapshot snapshot = TwoJobs();
  Finding finding = {.kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, nic}};
  finding.confidence = 0.9;
  snapshot.findings = std::make_shared<const Findings>(Findings{finding});
  Publish(std::move(snapshot));
  const auto tag_of = [&] {
    for (const auto& [name, value] : Get("/api/v1/findings").headers) {
      if (name == "ETag") return value;
    }
    return std::string();
  };
  const auto muted = [&](const std::string& value) {
    return HasSubstr("\nrocescope_finding_muted{kind=\"nic_crash\",place=\"" +
                     std::string(Json("/api/v1/findings")["findings"][0]["place"]) +
                     "\",direction=\"\",severity=\"critical\"} " + value + "\n");
  };
  const std::string before = tag_of();
  EXPECT_NE(before, "");
  EXPECT_THAT(Get("/metrics").body, AllOf(muted("0"), HasSubstr("\nrocescope_muted_findings 0\n")));
  const std::string place = Json("/api/v1/findings")["findings"][0]["place"];
  const std::string request = R"({"kind": "nic_crash", "place": ")" + place + "\"}";
  EXPECT_EQ(nlohmann::json::parse(Post("mute", request).body)["finding_count"], 1);
  const std::string after = tag_of();
  EXPECT_NE(after, before);
  EXPECT_THAT(Get("/metrics").body, AllOf(muted("1"), HasSubstr("\nrocescope_muted_findings 1\n"),
                                          HasSubstr("\nrocescope_findings 1\n")));
  EXPECT_EQ(Post("acknowledge", request).status, 200u);
  EXPECT_NE(tag_of(), after);
  EXPECT_EQ(Post("unacknowledge", request).status, 200u);
  EXPECT_EQ(Post("unmute", request).status, 200u);
  EXPECT_EQ(tag_of(), before);
}

TEST_F(WebTest, HistoryAcceptsTimeRanges) {
  OpenDaemon(kFabric);
  for (const char* path :
       {"events?start_time=2023-11-14T22:13:20Z&end_time=2027-01-15T08:00:00Z&kind=KIND_GAP",
        "links?port=leaf0:Ethernet1&step=60s&max_points=9", "jobs?job_id=4711"}) {
    EXPECT_EQ(ReasonOf(std::string("/api/v1/history/") + path, 400), "NO_HISTORY") << path;
  }
  EXPECT_THAT(MessageOf("/api/v1/history/events?start_time=yesterday", 400),
              HasSubstr("start_time: expected a time such as 2026-01-31T12:00:00Z"));
  EXPECT_THAT(MessageOf("/api/v1/history/link", 404),
              HasSubstr("did you mean \"/api/v1/history/links\"?"));
}

TEST_F(WebTest, ErrorsFollowTheApiGuideOfGoogle) {
  OpenDaemon(kFabric);
  EXPECT_EQ(
      Get("/api/v1/jobs").body,
      R"({"error":{"code":503,"message":"no snapshot yet: the first analysis window is not complete; )"
      R"(try again in a few seconds",)"
      R"("status":"UNAVAILABLE","details":[)"
      R"({"@type":"type.googleapis.com/google.rpc.ErrorInfo",)"
      R"("reason":"NO_SNAPSHOT_YET","domain":"rocescope"},)"
      R"({"@type":"type.googleapis.com/google.rpc.RetryInfo","retry_delay":"1s"}]}})"
      "\n");
  Publish(TwoJobs());
  EXPECT_EQ(ReasonOf("/api/v1/jobs/nobody", 404), "UNKNOWN_JOB");
  EXPECT_THAT(MessageOf("/api/v1/hotspot", 404), HasSubstr("did you mean \"/api/v1/hotspots\"?"));
  EXPECT_THAT(MessageOf("/api/v1/jobs?page_sise=3", 400),
              HasSubstr("unknown parameter \"page_sise\"; did you mean \"page_size\"?"));
  for (const char* path : {"jobs/nobody?typo=1", "openapi.json?typo=1", "events?typo=1"}) {
    EXPECT_THAT(MessageOf(std::string("/api/v1/") + path, 400),
                HasSubstr("unknown parameter \"typo\""));
  }
  const auto violation =
      ErrorOf("/api/v1/jobs?page_size=-3", 400)["details"][1]["field_violations"][0];
  EXPECT_EQ(violation["field"], "page_size");
  EXPECT_EQ(violation["description"], "expected a number from 0 to 2147483647, found -3");
  EXPECT_EQ(ReasonOf("/api/v1/jobs?page_token=x", 400), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf("/api/v1/dependencies", 400), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf("/api/v1/%zz", 400), "BAD_REQUEST");
  EXPECT_EQ(ReasonOf("/nowhere", 404), "UNKNOWN_PATH");
  EXPECT_EQ(Ask({.method = "POST", .target = "/api/v1/jobs"}).status, 405u);
}

TEST_F(WebTest, ErrorsOfNumbersNameTheRange) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  for (const char* size : {"2147483648", "x", "1.5", "010", "-0", ""}) {
    EXPECT_EQ(MessageOf(std::string("/api/v1/jobs?page_size=") + size, 400),
              fmt::format("page_size: expected a whole number from 0 to 2147483647 without leading "
                          "zeros, found \"{}\"",
                          size));
  }
  EXPECT_THAT(MessageOf("/api/v1/recommended-nodes?node_count=4294967296", 400),
              HasSubstr("node_count: expected a whole number from 0 to 4294967295"));
  for (const char* id : {"010", "18446744073709551616"}) {
    EXPECT_THAT(
        MessageOf(std::string("/api/v1/registered-jobs/") + id, 400),
        HasSubstr("scheduler_job_id: expected a whole number from 0 to 18446744073709551615"));
  }
  EXPECT_EQ(ReasonOf("/api/v1/registered-jobs/10", 404), "UNKNOWN_JOB");
  EXPECT_EQ(ReasonOf("/api/v1/events?cursor=01", 400), "BAD_REQUEST");
}

TEST_F(WebTest, RepeatedParametersAreRefused) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  for (const auto& [target, name] :
       {std::pair("jobs?page_size=1&page_size=2", "page_size"),
        std::pair("jobs?filter=&page_size=1&filter=", "filter"),
        std::pair("events?cursor=1&cursor=1", "cursor"),
        std::pair("recommended-nodes?node_count=1&candidate_nodes=a&candidate_nodes=b",
                  "candidate_nodes"),
        std::pair("jobs/nccl-1?job_id=nccl-2", "job_id")}) {
    const auto error = ErrorOf(std::string("/api/v1/") + target, 400);
    EXPECT_EQ(error["status"], "INVALID_ARGUMENT") << target;
    const auto& violation = error["details"][1]["field_violations"][0];
    EXPECT_EQ(violation["field"], name) << target;
    EXPECT_EQ(violation["description"], "expected one value, found several");
  }
}

TEST_F(WebTest, RefusalOfAnApiPathIsAnErrorOfTheApi) {
  for (const auto& [status, reason] :
       {std::pair(400u, "BAD_REQUEST"), std::pair(403u, "NOT_ALLOWED"),
        std::pair(405u, "WRONG_METHOD"), std::pair(413u, "HAS_BODY"),
        std::pair(414u, "BAD_REQUEST"), std::pair(421u, "OTHER_HOST"),
        std::pair(431u, "BAD_REQUEST"), std::pair(429u, "TOO_MANY"), std::pair(503u, "TOO_MANY")}) {
    const HttpRefusal refusal = {.status = status, .target = "/api/v1/jobs?a", .why = "no"};
    const HttpResponse response = WebRefusal(refusal);
    EXPECT_EQ(response.status, status);
    const auto error = nlohmann::json::parse(response.body)["error"];
    EXPECT_EQ(error["code"], status);
    EXPECT_EQ(error["details"][0]["reason"], reason);
    EXPECT_EQ(error["message"], "no");
  }
  const HttpResponse unknown = WebRefusal({.status = 414, .target = "", .why = "no"});
  EXPECT_EQ(unknown.content_type, "application/json") << "a target that is too long is not parsed";
  const HttpResponse page = WebRefusal({.status = 421, .target = "/", .why = "no"});
  EXPECT_EQ(page.status, 421u);
  EXPECT_EQ(page.body, "no\n");
}

TEST_F(WebTest, SixtyFourBitNumbersAreStringsAndAllFieldsArePrinted) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  const auto jobs = Json("/api/v1/jobs");
  EXPECT_EQ(jobs["snapshot"]["version"], "1");
  EXPECT_EQ(jobs["jobs"][0]["bytes"], "0");
  EXPECT_EQ(jobs["next_page_token"], "");
}

TEST_F(WebTest, AStoredListIsTruncatedWithANoteAndItsFullLength) {
  OpenDaemon(kFabric);
  Snapshot snapshot;
  Attribution attribution;
  for (int i = 0; i < 2500; ++i) attribution.jobs.emplace_back().job.id = "j" + std::to_string(i);
  snapshot.attribution = std::make_shared<const Attribution>(std::move(attribution));
  Publish(std::move(snapshot));
  const auto stored_jobs = [](const StoredData& data) {
    return nlohmann::json::parse(data.json)["/api/v1/jobs"];
  };
  // The second page is cut.
  const StoredData part = StoreData(*service_, 1500);
  EXPECT_EQ(stored_jobs(part)["jobs"].size(), 1500u);
  EXPECT_EQ(stored_jobs(part)["jobs"][1499]["job_id"], "j1499");
  EXPECT_EQ(stored_jobs(part)["total_size"], 2500);
  EXPECT_EQ(stored_jobs(part)["next_page_token"], "");
  EXPECT_THAT(part.notes, testing::ElementsAre(
                              "/api/v1/jobs: the page contains the first 1,500 of 2,500 elements"));
  const StoredData whole = StoreData(*service_, 2500);
  EXPECT_EQ(stored_jobs(whole)["jobs"].size(), 2500u);
  EXPECT_THAT(whole.notes, testing::IsEmpty());
}

// The dashboard requests the same paths: kIndicatorsPath and jobLevelsPath in service_tables.tsx,
// with a page_size, which a page ignores.
TEST_F(WebTest, AStoredPageContainsTheViolatedServiceLevels) {
  OpenDaemon(kFabric);
  Snapshot snapshot = TwoJobs();
  auto levels = std::make_shared<ServiceLevels>();
  for (const ServiceState state : {ServiceState::kMet, ServiceState::kMissed}) {
    levels->levels.push_back(
        {.indicator = static_cast<ServiceIndicator>(0), .job = 1, .state = state});
  }
  snapshot.service_levels = levels;
  Publish(std::move(snapshot));
  const auto stored = nlohmann::json::parse(StoreData(*service_, 1000).json);
  for (const char* path : {"/api/v1/service-levels", "/api/v1/service-levels?job_id=nccl-2"}) {
    ASSERT_TRUE(stored.contains(path)) << path;
    ASSERT_EQ(stored[path]["service_levels"].size(), 1u) << path;
    EXPECT_EQ(stored[path]["service_levels"][0]["state"], "STATE_MISSED") << path;
    EXPECT_EQ(stored[path]["indicators"][0]["met_count"], "1") << path;
  }
  EXPECT_EQ(stored["/api/v1/service-levels?job_id=nccl-1"]["indicators"].size(), 0u);
}

TEST_F(WebTest, PageAllowsNoExternalContent) {
  OpenDaemon("");
  const HttpResponse page = Get("/");
  EXPECT_EQ(page.status, 200u);
  EXPECT_THAT(page.content_type, StartsWith("text/html"));
  std::string policy;
  std::string tag;
  for (const auto& [name, value] : page.headers) {
    if (name == "Content-Security-Policy") policy = value;
    if (name == "ETag") tag = value;
  }
  EXPECT_THAT(policy, AllOf(StartsWith("default-src 'none'"), Not(HasSubstr("unsafe"))));
  const HttpResponse again = Ask({.method = "GET", .target = "/", .if_none_match = tag});
  EXPECT_EQ(again.status, 304u);
  EXPECT_EQ(again.body, "");
}

TEST_F(WebTest, EventsResumeAfterTheLastEventId) {
  OpenDaemon(kFabric);
  v1::Event event;
  for (const char* sentence : {"one", "two"}) {
    event.set_kind(v1::Event::KIND_FAULT_STARTED);
    event.set_sentence(sentence);
    service_->events().Append(event);
  }
  const HttpResponse now = Get("/api/v1/events");
  EXPECT_EQ(now.content_type, "text/event-stream");
  EXPECT_EQ(now.stream(), "") << "earlier events are not sent";
  const uint64_t last = service_->events().last();
  HttpResponse later =
      Ask({.method = "GET", .target = "/api/v1/events", .last_event_id = std::to_string(last - 1)});
  EXPECT_THAT(later.stream(), AllOf(StartsWith("id: " + std::to_string(last) +
                                               "\nevent: KIND_FAULT_STARTED\ndata: {"),
                                    HasSubstr("\"cursor\":\"" + std::to_string(last) + "\""),
                                    HasSubstr("\"sentence\":\"two\""), Not(HasSubstr("one"))));
  EXPECT_EQ(later.stream(), "");
  Publish(TwoJobs());
  EXPECT_THAT(later.stream(),
              AllOf(StartsWith("id: " + std::to_string(last) + "\nevent: KIND_SNAPSHOT\n"),
                    HasSubstr("\"version\":\"1\"")));
  EXPECT_EQ(Get("/api/v1/events?cursor=x").status, 400u);
  HttpResponse earlier = Get("/api/v1/events?cursor=2");
  EXPECT_THAT(earlier.stream(),
              AllOf(HasSubstr("event: KIND_GAP\n"), HasSubstr("the appliance restarted"),
                    HasSubstr("\"sentence\":\"one\"")))
      << "cursor of an earlier process";
}

TEST_F(WebTest, HealthHandlerServesOnlyTheState) {
  OpenDaemon(kFabric);
  service_->SetReloadProblem("secret.yaml: bad");
  EXPECT_THAT(Get("/api/v1/health").body, HasSubstr("secret.yaml"));
  const HttpHandler handle = HealthHandler(*service_);
  const HttpResponse health = handle({.method = "GET", .target = "/api/v1/health"});
  EXPECT_EQ(health.status, 200u);
  EXPECT_THAT(health.body, AllOf(HasSubstr("\"state\":\"STATE_"), Not(HasSubstr("secret.yaml"))));
  for (const char* target : {"/", "/metrics", "/api/v1/jobs"}) {
    EXPECT_EQ(handle({.method = "GET", .target = target}).status, 404u) << target;
  }
}

TEST_F(WebTest, ChecksOfContainerPlatformsAnswerWithTheStatus) {
  OpenDaemon(kFabric);
  const HttpHandler plain = HealthHandler(*service_);
  const auto check = [&](const char* target) {
    const HttpResponse response = Get(target);
    const HttpResponse alone = plain({.method = "GET", .target = target});
    EXPECT_EQ(alone.status, response.status) << target;
    EXPECT_EQ(alone.body, response.body) << target;
    return std::pair(response.status, response.body);
  };
  EXPECT_EQ(check("/livez"), std::pair(200u, std::string("alive\n")));
  EXPECT_EQ(check("/readyz"), std::pair(503u, std::string("waiting\n"))) << "no snapshot yet";
  EXPECT_EQ(check("/healthz"), std::pair(200u, std::string("waiting\n")));
  Publish(TwoJobs());
  EXPECT_EQ(check("/readyz").first, 200u);
  service_->SetReloadProblem("secret.yaml: bad");
  EXPECT_EQ(check("/healthz"), std::pair(503u, std::string("degraded\n")));
  EXPECT_EQ(check("/readyz").first, 200u) << "it still answers";
  EXPECT_EQ(check("/livez").first, 200u);
}

TEST_F(WebTest, UnchangedAnswersAreNotSentAgain) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  const HttpRequest request = {.method = "GET", .target = "/api/v1/topology"};
  std::string tag;
  for (const auto& [name, value] : Ask(request).headers) {
    if (name == "ETag") tag = value;
  }
  ASSERT_NE(tag, "");
  EXPECT_EQ(Ask({.method = "GET", .target = "/api/v1/topology", .if_none_match = tag}).status,
            304u);
  EXPECT_EQ(Ask({.method = "GET", .target = "/api/v1/jobs", .if_none_match = tag}).status, 200u);
}

TEST_F(WebTest, RefusalsBecauseOfALimitAreCounted) {
  OpenDaemon("");
  const HttpRefuser refuse = WebRefuser(*service_);
  for (const unsigned status : {403u, 429u, 503u}) {
    EXPECT_EQ(refuse({.status = status, .target = "/", .why = "no"}).status, status);
  }
  EXPECT_THAT(Get("/metrics").body,
              AllOf(HasSubstr("rocescope_refused_requests_total{server=\"http\"} 2\n"),
                    HasSubstr("rocescope_refused_requests_total{server=\"grpc\"} 0\n")));
}

TEST_F(WebTest, NumberOfMetricSeriesIsLimited) {
  OpenDaemon(kFabric, {.max_jobs = 100});
  Snapshot snapshot;
  Attribution attribution;
  for (int i = 0; i < 150; ++i) {
    attribution.jobs.emplace_back().job.id = "job" + std::to_string(i);
  }
  snapshot.attribution = std::make_shared<const Attribution>(std::move(attribution));
  Publish(std::move(snapshot));
  const std::string text = Get("/metrics").body;
  EXPECT_THAT(text, AllOf(HasSubstr("# TYPE rocescope_source_received_frames_total counter\n"),
                          HasSubstr("rocescope_build_info{version=\"1.2.3\"} 1\n"),
                          HasSubstr("\nrocescope_jobs 150\n"),
                          HasSubstr("\nrocescope_jobs_without_series 50\n")));
  size_t series = 0;
  for (size_t at = 0; (at = text.find("\nrocescope_job_ranks{", at)) != std::string::npos; ++at) {
    ++series;
  }
  EXPECT_EQ(series, 100u);
}

class TenantWebTest : public TenantTest {
 protected:
  HttpResponse Get(const std::string& target, const Caller& caller) {
    return WebHandler(*service_)({.method = "GET", .target = target, .caller = caller});
  }
  HttpResponse Post(const std::string& target, const Caller& caller) {
    return WebHandler(*service_)({.method = "POST",
                                  .target = target,
                                  .content_type = "application/json",
                                  .body = "{}",
                                  .caller = caller});
  }
};

TEST_F(TenantWebTest, TenantsGetDataOfTheirOwnJobsOrStatus403) {
  OpenAll();
  size_t answered = 0;
  std::string of_all;
  for (const std::string& path : JsonPaths()) {
    std::string target = path;
    if (const size_t brace = path.find('{'); brace != std::string::npos) {
      target = path.substr(0, brace) + "4711";
    } else if (path.ends_with("/paths") || path.ends_with("/hotspots") ||
               path.ends_with("/history/jobs")) {
      target += "?job_id=nccl-aaa";
    }
    // Custom methods such as findings:mute change something.
    const bool changes = path.find(':') != std::string::npos;
    HttpResponse response = changes ? Post(target, Alice()) : Get(target, Alice());
    if (response.stream) response.body += response.stream();
    EXPECT_TRUE(response.status == 200 || response.status == 403) << target << response.body;
    if (response.status == 403) {
      EXPECT_THAT(response.body, AllOf(HasSubstr("\"reason\":\"NOT_ALLOWED\""),
                                       HasSubstr(changes ? "\\\"carol\\\" may not "
                                                         : "\\\"carol\\\" may not read ")));
    }
    if (response.status == 200) ++answered;
    for (const std::string& word : Forbidden()) {
      EXPECT_THAT(response.body, Not(HasSubstr(word))) << target;
    }
    of_all += Get(target, LocalCaller()).body;
  }
  // The calls with ACCESS_TENANT and an HTTP path, GetHealth, and the OpenAPI document.
  EXPECT_EQ(answered, 12u);
  EXPECT_THAT(of_all, AllOf(HasSubstr("mallory"), HasSubstr("host3")));
  EXPECT_EQ(Get("/metrics", Alice()).status, 403u);
  EXPECT_THAT(Get("/metrics", Alice()).body, HasSubstr("may not read the metrics"));
  EXPECT_EQ(Get("/metrics", LocalCaller()).status, 200u);
  EXPECT_EQ(Get("/", Alice()).status, 200u) << "the dashboard";
  EXPECT_EQ(Get("/api/v1/hotspots", Alice()).status, 403u) << "without a job";
  EXPECT_EQ(Get("/api/v1/jobs/66006600", Alice()).status, 404u);
  EXPECT_EQ(Get("/api/v1/registered-jobs/66006600", Alice()).status, 404u);
}

// A response of one client must not spare another one its body.
TEST_F(TenantWebTest, UnchangedAnswersAreThoseOfTheClient) {
  OpenAll();
  std::string tag;
  for (const auto& [name, value] : Get("/api/v1/registered-jobs", LocalCaller()).headers) {
    if (name == "ETag") tag = value;
  }
  ASSERT_NE(tag, "");
  const HttpRequest request = {.method = "GET",
                               .target = "/api/v1/registered-jobs",
                               .if_none_match = tag,
                               .caller = Alice()};
  EXPECT_EQ(WebHandler(*service_)(request).status, 200u);
}

TEST(WebGate, TenantsMayReadAndAgentsMayNot) {
  GrpcConfig config;
  config.viewers = {"ada"};
  config.agents = {"gpu7"};
  config.tenants = {{.name = "carol", .users = {"alice"}}};
  const HttpGate gate = WebGate(config);
  EXPECT_TRUE(gate({"ada"})->MayReadAll());
  const auto carol = gate({"carol"});
  ASSERT_TRUE(carol);
  EXPECT_FALSE(carol->MayReadAll());
  EXPECT_TRUE(carol->IsUser("alice"));
  EXPECT_FALSE(gate({"gpu7"}));
  EXPECT_THAT(gate({"eve"}).error().message, HasSubstr("\"eve\" may not read over HTTP"));
}

}  // namespace
}  // namespace rocescope

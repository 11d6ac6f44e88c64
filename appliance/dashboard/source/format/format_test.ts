// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { eventNow } from "../parts/reference";
import { nsBetween, relative, toNs, utcFull, utcTime } from "./moments";
import { causeText, enumName, enumWords, obstacleText, pathState, serviceStateText, words } from "./words";
import { bitRate, bytes, coarse, count, duration, inUnit, percent, plural, toNanoseconds } from "./quantities";

describe("quantities", () => {
  it("have three digits and a prefix", () => {
    expect(bitRate(97_400_000_000)).toBe("97.4 Gb/s");
    expect(bytes("1182345678901")).toBe("1.18 TB");
    expect(bytes(0)).toBe("0 B");
    expect(bytes(999_600)).toBe("1.00 MB");
  });
  it("accept 64-bit strings", () => {
    expect(count("18446744073709551615")).toBe("18447 P");
    expect(count("12345")).toBe("12\u202f345");
  });
  it("never round to 0 % or 100 %", () => {
    expect(percent(0.0004)).toBe("<0.1 %");
    expect(percent(0.9999)).toBe(">99 %");
    expect(percent(1)).toBe("100 %");
    expect(percent(0)).toBe("0 %");
  });
  it("accept the units of the API", () => {
    expect(inUnit(2e8, "ns")).toBe("200 ms");
    expect(inUnit(0.021, "ratio")).toBe("2.1 %");
    expect(inUnit(71.4, "degrees Celsius")).toBe("71.4 degrees Celsius");
  });
  it("form plurals", () => {
    expect(plural(1, "job")).toBe("1 job");
    expect(plural("0", "job")).toBe("0 jobs");
    expect(plural(2, "switch")).toBe("2 switches");
  });
});

it("spells abbreviations as engineers do", () => {
  expect(words("deprioritised_cnps")).toBe("deprioritised CNPs");
  expect(words("not_roce")).toBe("not RoCE");
  expect(words("point_to_point")).toBe("point to point");
});

describe("values of enumerations", () => {
  it("are words without the name of the enumeration", () => {
    expect(enumWords("STATE_AT_RISK")).toBe("at risk");
    expect(enumWords("KIND_ALL_TO_ALL")).toBe("all to all");
    expect(enumWords("SOURCE_SFLOW")).toBe("sFlow");
    expect(enumWords("SERVICE_LAYER_NIC")).toBe("NIC");
    expect(enumWords("ELEMENT_KIND_GPU")).toBe("GPU");
    expect(enumWords("START_REASON_FIRST_SEEN")).toBe("first seen");
    expect(enumWords("CHANGE_CAUSE_LINK_DOWN")).toBe("link down");
    expect(enumName("STATE_AT_RISK")).toBe("at_risk");
  });
  it("are empty if unspecified or missing", () => {
    expect(enumWords("SOURCE_UNSPECIFIED")).toBe("");
    expect(enumWords(undefined)).toBe("");
  });
  it("have explanations, also for values of a newer appliance", () => {
    expect(causeText("CAUSE_INCAST")).toContain("many senders");
    expect(causeText("CAUSE_SOLAR_FLARE" as never)).toBe("solar flare");
    expect(causeText("CAUSE_UNSPECIFIED")).toBe("unknown cause");
    expect(obstacleText("OBSTACLE_UNSPECIFIED")).toBe("");
    expect(serviceStateText("STATE_MET")).toBe("within bounds");
    expect(pathState("STATE_EXACT")[0]).toBe("exact");
    expect(pathState(undefined)[0]).toBe("unknown");
  });
});

describe("durations", () => {
  it("change the unit for large numbers", () => {
    expect(duration("0.000000850s")).toBe("850 ns");
    expect(duration(undefined)).toBe("0 ns");
    expect(duration(12_300)).toBe("12.3 µs");
    expect(duration(999_600)).toBe("1.00 ms");
    expect(duration(90e9)).toBe("90 s");
    expect(duration(3600e9 * 3)).toBe("3 h 0 min");
    expect(duration(3600e9 * 75)).toBe("3 d 3 h");
  });
  it("of the API keep nanoseconds", () => {
    expect(toNanoseconds("1.5s")).toBe(1_500_000_000);
    expect(toNanoseconds("0.000125s")).toBe(125_000);
    expect(toNanoseconds("-0.000000001s")).toBe(-1);
    expect(toNanoseconds("3s")).toBe(3_000_000_000);
    expect(toNanoseconds(undefined)).toBe(0);
  });
  it("are whole seconds for ages", () => {
    expect(coarse(8.7e9)).toBe("8 s");
    expect(coarse(61.1e9)).toBe("61 s");
  });
});

describe("moments", () => {
  const time = "2024-11-23T07:07:58.123456789Z";
  it("keep the last digit of nanoseconds", () => {
    expect(utcTime(time, 9)).toBe("07:07:58.123456789");
    expect(nsBetween(time, "2024-11-23T07:07:58.12345679Z")).toBe(1);
    expect(utcFull(time)).toBe("2024-11-23 07:07:58.123456 UTC");
    expect(toNs(time)).toBe(1_732_345_678_123_456_789n);
  });
  it("accept times without a fraction, and with an offset", () => {
    expect(toNs("1970-01-01T00:00:02Z")).toBe(2_000_000_000n);
    expect(toNs("1970-01-01T01:00:02.5+01:00")).toBe(2_500_000_000n);
    expect(utcTime("2026-01-31T12:00:00Z")).toBe("12:00:00.000");
  });
  it("show unset and invalid times as unknown", () => {
    expect(utcTime(undefined)).toBe("?");
    expect(toNs("2026-13-31T12:00:00Z")).toBeUndefined();
    expect(toNs("1732345678123456789")).toBeUndefined();
    expect(nsBetween(time, undefined)).toBe(0);
    expect(relative(undefined, { nowNs: 1n })).toBe("?");
  });
  it("of a recording are relative to its event time", () => {
    const snapshot = { version: "1", data_time: "1970-01-01T00:00:05Z", publish_time: "1970-01-01T00:15:00Z" };
    expect(eventNow(snapshot, 902_000_000_000n)).toBe(7_000_000_000n);
    expect(eventNow({ version: "1" }, 902n)).toBe(902n);
  });
  it("are relative to a past minute", () => {
    const reference = { nowNs: 120_000_000_000n, isPast: true };
    expect(relative("1970-01-01T00:01:00Z", reference)).toBe("60 s earlier");
    expect(relative("1970-01-01T00:02:30Z", reference)).toBe("in this minute");
    expect(relative("1970-01-01T00:10:00Z", reference)).toBe("8 min later");
  });
  it("are relative to now", () => {
    expect(relative("1970-01-01T00:00:01Z", { nowNs: 13_400_000_000n })).toBe("12 s ago");
    expect(relative("1970-01-01T00:00:01Z", { nowNs: 900_000_000n })).toBe("just now");
  });
});

// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { eventNow } from "../parts/reference";
import { nsBetween, relative, utcFull, utcTime } from "./moments";
import { words } from "./words";
import { bitRate, bytes, coarse, count, duration, inUnit, percent, plural } from "./quantities";

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
  });
});

it("spells abbreviations as engineers do", () => {
  expect(words("deprioritised_cnps")).toBe("deprioritised CNPs");
  expect(words("not_roce")).toBe("not RoCE");
  expect(words("point_to_point")).toBe("point to point");
});

describe("durations", () => {
  it("change the unit for large numbers", () => {
    expect(duration("850")).toBe("850 ns");
    expect(duration(12_300)).toBe("12.3 µs");
    expect(duration(999_600)).toBe("1.00 ms");
    expect(duration(90e9)).toBe("90 s");
    expect(duration(3600e9 * 3)).toBe("3 h 0 min");
    expect(duration(3600e9 * 75)).toBe("3 d 3 h");
  });
  it("are whole seconds for ages", () => {
    expect(coarse(8.7e9)).toBe("8 s");
  });
});

describe("moments", () => {
  const ns = "1732345678123456789";
  it("keep the last digit of nanoseconds", () => {
    expect(utcTime(ns, 9)).toBe("07:07:58.123456789");
    expect(nsBetween(ns, "1732345678123456790")).toBe(1);
    expect(utcFull(ns)).toBe("2024-11-23 07:07:58.123456 UTC");
  });
  it("are relative to the start of a replay", () => {
    expect(relative("1001500000", { zeroNs: "1000000000" })).toBe("+1.50 ms");
    expect(relative("999000000", { zeroNs: "1000000000" })).toBe("−1 ms");
  });
  it("of a recording are relative to its event time", () => {
    const age = { version: "1", data_time_ns: "5000000000", published_time_ns: "900000000000", window_ns: "1" };
    expect(eventNow(age, 902_000_000_000n)).toBe(7_000_000_000n);
  });
  it("are relative to now", () => {
    expect(relative("1000000000", { zeroNs: "0", nowNs: 13_400_000_000n })).toBe("12 s ago");
    expect(relative("1000000000", { zeroNs: "0", nowNs: 900_000_000n })).toBe("just now");
  });
});

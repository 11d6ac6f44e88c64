// SPDX-License-Identifier: BSD-3-Clause
// Checks of past minutes on the fake appliance: links, stepping, gaps, and what shows the present.
import { settle } from "./settle.mjs";

const kMaxShift = 0.1;
const kJob = "#/jobs/slurm-4711";
const kFinding = "#/findings/gray_loss~leaf0:Ethernet101-spine1:Ethernet0~leaf0:Ethernet101";
const kCommon = { overview: "#/", finding: kFinding, job: kJob, fabric: "#/fabric", sources: "#/sources" };

const minuteAgo = (minutes) => `${new Date(Date.now() - minutes * 60e3).toISOString().slice(0, 16)}:00Z`;
const textOf = (time) => `${time.slice(0, 16).replace("T", " ")} UTC`;
const timeIn = (url) => new URLSearchParams(new URL(url).hash.split("?")[1]).get("time");

// Lists of checks, which can run at the same time.
export function pastChecks({ note, check, open, audit, checkWidth, shoot }, fakes) {
  async function go(page, hash, time, fake = fakes.steady) {
    await page.goto("about:blank");
    await page.goto(`${fake.url}${hash}${time ? `${hash.includes("?") ? "&" : "?"}time=${time}` : ""}`);
    await settle(page);
  }
  const mainText = (page) => page.locator("main").innerText();
  const barText = (page) => page.locator(".time-bar").innerText();

  async function lookAtPermalink(page) {
    const [faulty, healthy] = [minuteAgo(5), minuteAgo(60)];
    await go(page, "#/", faulty);
    check((await barText(page)).includes(`Past: ${textOf(faulty)}`), "past: the bar does not show the minute of the URL");
    check((await mainText(page)).includes("1 critical fault and 1 warning; 2 of 4 jobs affected."), "past: the overview lacks the faults of the minute");
    await page.getByText(/min earlier/).first().waitFor({ timeout: 20_000 }).catch(() => note("past: times are not relative to the minute"));
    check((await page.title()).startsWith(textOf(faulty)), "past: the title of the page lacks the minute");
    check((await page.locator("main.old-data").count()) === 0, "past: the view is marked as old data");
    await go(page, "#/", healthy);
    check((await mainText(page)).includes("No faults found"), "past: the overview before the faults is not healthy");
    check(!(await mainText(page)).includes("Silent packet loss"), "past: the timeline shows later faults");
    for (const [hash, expected] of [
      ["#/hotspots", "No congested queue was observed."], ["#/findings", "No faults found"], ["#/fabric", "No faults found"], [kFinding, "It was detected later"],
    ]) {
      await go(page, hash, healthy);
      check((await mainText(page)).includes(expected), `past: ${hash} lacks "${expected}"`);
    }
    await go(page, "#/jobs", healthy);
    check((await page.locator("main .row-fault").count()) === 0, "past: jobs have faults before these started");
    await go(page, "#/jobs", faulty);
    check((await page.locator("main .row-fault").count()) > 0, "past: jobs lack their faults");
  }

  async function lookAtLinks(page) {
    const time = minuteAgo(6);
    for (const hash of ["#/", "#/findings", "#/jobs", kJob, "#/hotspots", "#/fabric", "#/paths", "#/sources", kFinding]) {
      await go(page, hash, time);
      const links = await page.locator('main a[href^="#/"], header a[href^="#/"]').evaluateAll((all) => all.map((one) => one.getAttribute("href")));
      const without = links.filter((link) => !link.includes("time="));
      check(links.length > 7 && without.length === 0, `past: ${hash} has links without the minute: ${without.slice(0, 3)}`);
    }
    await go(page, "#/", time);
    await page.locator("nav a", { hasText: "Jobs" }).click();
    await page.waitForFunction(() => location.hash.startsWith("#/jobs"));
    check(timeIn(page.url()) === time, "past: the navigation loses the minute");
    await page.keyboard.press("6");
    await page.waitForFunction(() => location.hash.startsWith("#/findings"));
    check(timeIn(page.url()) === time, "past: a key loses the minute");
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Search all names" }).fill("gpu-1");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.startsWith("#/fabric?at=gpu-1"));
    check(timeIn(page.url()) === time, "past: a search result loses the minute");
  }

  async function lookAtSteps(page) {
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await go(page, "#/findings");
    check((await page.getByRole("button", { name: "+1 min" }).isDisabled()), "live: there is a next minute");
    const before = new Date(Math.floor(Date.now() / 60e3) * 60e3 - 60e3).toISOString().slice(0, 16);
    await page.getByRole("button", { name: "−1 min" }).click();
    await page.waitForFunction(() => location.hash.includes("time="));
    check(timeIn(page.url()).slice(0, 16) >= before, `steps: the last minute is ${timeIn(page.url())}`);
    await page.getByRole("button", { name: "Go to …" }).click();
    const time = minuteAgo(20);
    await page.getByLabel("Minute (UTC)").fill(time.slice(0, 16));
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.waitForFunction((wanted) => decodeURIComponent(location.hash).includes(wanted), `time=${time}`);
    await settle(page);
    check((await mainText(page)).includes("Slow receiver") && !(await page.locator("main tbody").first().innerText()).includes("Silent packet loss"), "steps: the chosen minute is not shown");
    await page.getByRole("button", { name: "+1 min" }).press("Enter");
    await page.keyboard.press("]");
    await page.keyboard.press("[");
    await page.waitForFunction((wanted) => decodeURIComponent(location.hash).includes(wanted), `time=${minuteAgo(19).slice(0, 14)}`);
    const next = new Date(Date.parse(time) + 60e3).toISOString().slice(0, 16);
    check(timeIn(page.url()).startsWith(next), `steps: is at ${timeIn(page.url())}, not at ${next}`);
    await settle(page);
    await page.waitForTimeout(6000); // longer than the interval of the requests
    // The last minute is not final, and may be requested again.
    const asked = requests.filter((url) => Date.parse(new URL(url).searchParams.get("at_time")) < Date.now() - 15 * 60e3);
    check(asked.length > 3 && new Set(asked).size === asked.length, `steps: ${asked.length - new Set(asked).size} of ${asked.length} past answers were requested again`);
    check(requests.filter((url) => url.includes("/health")).length > 1, "steps: the health is not requested any more");
    await page.getByRole("button", { name: "Live" }).click();
    await page.waitForFunction(() => !location.hash.includes("time="));
    await settle(page);
    check((await page.locator("main tbody").first().innerText()).includes("Silent packet loss"), "steps: live does not show the present");
    check((await page.locator(".time-bar-past").count()) === 0, "steps: live looks like the past");
    await page.keyboard.press("[");
    await page.waitForFunction(() => location.hash.includes("time="));
    await page.keyboard.press("l");
    await page.waitForFunction(() => !location.hash.includes("time="));
  }

  async function lookAtGaps(page) {
    await go(page, "#/jobs", minuteAgo(120)); // in the gap
    check((await mainText(page)).includes(`The history contains no data for ${textOf(minuteAgo(120)).slice(0, 13)}`), "gap: does not state that there is no data");
    await audit(page, "gap");
    await shoot(page, "past-gap", false);
    await page.getByRole("link", { name: "Back to live" }).click();
    await page.waitForFunction(() => !location.hash.includes("time="));
    await settle(page);
    check((await page.locator("main tbody").first().locator("tr").count()) === 4, "gap: the link back to live does not work");
    const [inGap, bridged] = [minuteAgo(138), minuteAgo(44)];
    await go(page, "#/findings", inGap); // less than 15 minutes after the last stored one
    check(/data from \d\d:\d\d UTC/.test(await barText(page)), "gap: does not state that the data is older than the minute");
    await go(page, "#/findings", bridged);
    check(!(await barText(page)).includes("data from"), "past: a stored minute is marked as older");
    await go(page, "#/fabric", "2020-01-01T00:00:00Z");
    check((await mainText(page)).includes("The history contains no link loads for 2020-01-01 00:00 UTC"), "before the history: the fabric does not state that there is no data");
    await go(page, "#/paths", "2020-01-01T00:00:00Z");
    check(!(await mainText(page)).includes("The history contains no"), "before the history: the paths lack the present");
    await go(page, "#/", "2100-01-01T00:00:00Z");
    check((await mainText(page)).includes("2100-01-01 00:00 UTC is in the future"), "future: does not say so");
    await go(page, "#/", "yesterday");
    check((await barText(page)).includes("is not valid"), "a time that is not valid: does not say so");
    await go(page, "#/hotspots", minuteAgo(5), fakes.withoutHistory);
    check((await mainText(page)).includes("History is not configured"), "no history: does not say so");
    await audit(page, "past without a history");
    check((await page.getByRole("link", { name: "Back to live" }).count()) === 1, "no history: there is no link back to live");
  }

  async function lookAtPresent(page) {
    const time = minuteAgo(60);
    for (const [hash, what] of [["#/paths", "paths"], ["#/sources", "the health of the appliance"], [`${kJob}?tab=paths`, "paths"], ["#/fabric?at=leaf0:Ethernet101-spine1:Ethernet0", "the jobs and flows of a link"]]) {
      await go(page, hash, time);
      check((await mainText(page)).includes(`Present: the history does not contain ${what}`), `past: ${hash} does not state that it shows the present`);
    }
    await go(page, "#/paths", time);
    check((await page.locator("h2").first().innerText()).includes("the job with the most problems"), "past: the paths are not those of the present");
  }

  async function lookAtCharts(page) {
    await go(page, `${kJob}?tab=history`);
    const over = page.locator(".chart .u-over").first();
    await over.waitFor();
    const box = await over.boundingBox();
    await page.mouse.click(box.x + box.width * 0.9, box.y + 40);
    const button = page.locator(".pick button");
    const label = await button.innerText();
    check(/^Show \d\d:\d\d UTC$/.test(label), `charts: the action is ${label}`);
    await audit(page, "charts: a minute");
    await shoot(page, "past-chart-action", false);
    await button.click();
    await page.waitForFunction(() => location.hash.includes("time="));
    check(timeIn(page.url()).slice(11, 16) === label.slice(5, 10), `charts: ${label} shows ${timeIn(page.url())}`);
    check(/start=.*end=/.test(page.url()), "charts: the range moves");
    await settle(page);
    await page.getByRole("button", { name: "Live" }).click();
    await page.waitForFunction(() => !/time=|start=/.test(location.hash));
    await go(page, "#/findings");
    const track = await page.locator(".timeline .track").last().boundingBox();
    await page.mouse.click(track.x + track.width * 0.25, track.y + 3);
    const shown = await page.locator(".pick button").innerText();
    await page.locator(".pick button").click();
    await page.waitForFunction(() => location.hash.includes("time="));
    check(timeIn(page.url()).slice(11, 16) === shown.slice(5, 10), `timeline: ${shown} shows ${timeIn(page.url())}`);
    await go(page, "#/");
    const event = page.locator(".events li", { hasText: "Silent packet loss" }).first();
    await event.locator("a.event-clock").click();
    await page.waitForFunction(() => location.hash.includes("time="));
    await settle(page);
    check((await page.locator(".active-findings").innerText()).includes("Silent packet loss"), "timeline: the minute of an event does not show its fault");
    await go(page, "#/findings");
    await page.locator(".timeline .bar").first().click();
    await page.waitForSelector(".finding-page");
  }

  async function lookAtAll(colorScheme, width, pages) {
    const page = await open({ colorScheme, viewport: { width, height: 844 } });
    for (const [name, hash] of Object.entries(pages)) {
      const where = `past ${name}, ${colorScheme}, ${width} px`;
      await go(page, hash, minuteAgo(7));
      await page.waitForTimeout(500);
      const shift = await page.evaluate(() => window.shift);
      check(shift <= kMaxShift, `${where}: layout shift of ${shift.toFixed(3)}`);
      await checkWidth(page, where);
      await audit(page, where);
      await shoot(page, `past-${name}-${colorScheme}-${width}`, width < 720);
    }
    await page.context().close();
  }

  async function lookAtClicks() {
    const page = await open();
    for (const look of [lookAtPermalink, lookAtLinks, lookAtSteps, lookAtGaps, lookAtPresent, lookAtCharts]) {
      await look(page).catch((error) => note(`${look.name}: ${error.message.split("\n")[0]}`));
    }
    await page.context().close();
  }

  return [[lookAtClicks], [() => lookAtAll("light", 1280, { ...kCommon, hotspots: "#/hotspots", jobs: "#/jobs" }), () => lookAtAll("dark", 390, kCommon)]];
}

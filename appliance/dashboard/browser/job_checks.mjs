// SPDX-License-Identifier: BSD-3-Clause
// Checks of the jobs, hotspots, paths and links on the fake appliance, and of exported files.
import { readFileSync } from "node:fs";
import { settle } from "./settle.mjs";

const kJob = "#/jobs/slurm-4711";
const kLink = "leaf0:Ethernet101-spine1:Ethernet0";
const kMaxShift = 0.1; // cumulative layout shift; above, web.dev calls a page in need of improvement
const kPages = {
  jobs: "#/jobs", job: kJob, ranks: `${kJob}?tab=ranks`, collectives: `${kJob}?tab=collectives`, "job-paths": `${kJob}?tab=paths`,
  levels: `${kJob}?tab=levels`, history: `${kJob}?tab=history`, hotspots: "#/hotspots", paths: "#/paths", link: `#/fabric?at=${kLink}`,
};

const texts = (page, selector) => page.locator(selector).allInnerTexts();

async function download(page, button) {
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
}

// Lists of checks, which can run at the same time.
export function jobChecks({ note, check, open, audit, checkWidth, shoot }, fakes) {
  async function go(page, hash, fake = fakes.steady) {
    await page.goto(fake.url + hash);
    await settle(page);
  }

  async function lookAtJobs(page) {
    await go(page, "#/jobs");
    check((await texts(page, "main tbody tr td:first-child a"))[0] === "pretrain-70b", "jobs: the job with a fault is not the first");
    check((await page.locator("svg.sparkline").count()) >= 3, "jobs: there are no sparklines");
    const csv = await download(page, page.getByRole("button", { name: /Save Jobs as CSV/ }));
    check(csv.name === "jobs.csv", `jobs: the file is called ${csv.name}`);
    const lines = csv.content.toString().trimEnd().split("\r\n");
    check(lines.length === 5 && lines[1].startsWith("pretrain-70b,"), `jobs: the CSV contains ${lines.length} lines, first ${lines[1]}`);
    const json = await download(page, page.getByRole("button", { name: /Save Jobs as JSON/ }));
    check(JSON.parse(json.content.toString())[0].job_id === "slurm-4711", "jobs: the JSON does not have the order of the table");
    await go(page, `${kJob}?tab=ranks`);
    const ranks = (await page.locator("main table").first().locator("td:nth-child(2)").allInnerTexts()).slice(0, 3);
    check(ranks.join() === "straggler,retransmissions,CE marks", `ranks: those with problems are not the first: ${ranks}`);
    await go(page, `${kJob}?tab=collectives`);
    check((await page.locator(".lane-small").count()) === 3 && (await page.locator(".lane-wait").count()) === 2, "collectives: the swimlane of the straggler is missing");
  }

  async function lookAtHistory(page) {
    await go(page, `${kJob}?tab=history`);
    await page.locator(".chart canvas").first().waitFor();
    check((await page.locator(".chart").count()) === 5, "history: charts are missing");
    const label = await page.locator(".plot[role=img]").first().getAttribute("aria-label");
    check(/^Iteration time\. iteration time: 4\d\d ms to 6\d\d ms, last \d+ ms\.$/.test(label), `history: the text alternative is ${label}`);
    const over = page.locator(".chart .u-over").first();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 30);
    await page.waitForTimeout(200);
    const values = await texts(page, ".chart .u-series:first-child .u-value");
    check(values[0] !== "" && values.every((value) => value === values[0]), `history: the charts do not share the cursor: ${values}`);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 30, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("start="));
    await settle(page);
    const query = new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
    const minutes = (Date.parse(query.get("end")) - Date.parse(query.get("start"))) / 60e3;
    check(minutes >= 14 && minutes <= 18, `history: a quarter of an hour was selected, and ${minutes} min are shown`);
    await page.reload();
    await settle(page);
    check((await page.locator(".chart").count()) === 5, "history: the link to a range does not show it");
    const png = await download(page, page.getByRole("button", { name: /Save Iteration time.* as PNG/ }));
    check(png.content.subarray(1, 4).toString() === "PNG" && png.content.length > 2000, `history: ${png.name} is not an image`);
    await page.getByLabel("Time range").selectOption("7d");
    await page.waitForFunction(() => location.hash.includes("range=7d"));
    await settle(page);
    await go(page, `${kJob}?tab=history&start=2020-01-01T00:00Z&end=2020-01-01T01:00Z`);
    // The charts of the earlier range remain until the answer arrives, which a busy machine delays.
    await page.locator(".notice", { hasText: "No data of this job" }).waitFor({ timeout: 10_000 }).catch(() => undefined);
    check((await texts(page, ".notice"))[0]?.startsWith("No data of this job from 2020-01-01 00:00 to 01:00 UTC"), "history: does not state that a range has no data");
    await go(page, `${kJob}?tab=history`, fakes.withoutHistory);
    check((await texts(page, ".notice"))[0]?.startsWith("History is not configured"), "history: does not state that it is not configured");
  }

  async function lookAtHotspots(page) {
    await go(page, "#/hotspots");
    check((await texts(page, "main tbody tr td:nth-child(2)"))[0] === "leaf0:Ethernet101", "hotspots: the most expensive port is not the first");
    await page.getByLabel("Cause").selectOption("incast");
    await page.getByLabel("Port contains").fill("LEAF2");
    await page.waitForFunction(() => location.hash.includes("cause=incast") && location.hash.includes("port=LEAF2"));
    await page.reload();
    await settle(page);
    const ports = await texts(page, "main tbody tr td:nth-child(2)");
    check(ports.length > 0 && ports.every((port) => port.startsWith("leaf2:")), `hotspots: the filters of the URL do not apply: ${ports}`);
    await page.locator("td.toggle button").first().press("Enter");
    check((await page.locator(".hotspot").count()) > 0, "hotspots: a port has no details");
    await page.getByLabel("Port contains").fill("no such port");
    check((await texts(page, ".notice"))[0] === "No hotspot matches the filters.", "hotspots: does not state that no hotspot matches");
  }

  async function lookAtPaths(page) {
    await go(page, "#/paths");
    check((await page.locator("h2").first().innerText()).includes("pretrain-70b, the job with the most problems"), "paths: the default is not the job with the most problems");
    check((await page.locator("main tbody tr").count()) > 4, "paths: the default shows no pairs");
    await page.getByLabel("From", { exact: true }).pressSequentially("gpu-12:ml");
    const options = await page.locator("#names-of-source option").evaluateAll((all) => all.map((one) => one.value));
    check(options.join() === "gpu-12:mlx5_0,gpu-12:mlx5_1", `paths: suggests ${options}`);
  }

  async function lookAtLink(page) {
    await go(page, `#/fabric?at=${kLink}`);
    await page.locator(".chart").first().waitFor();
    await page.locator("main .table-frame a", { hasText: /^rank / }).first().waitFor();
    check((await page.locator(".chart").count()) === 4, "link: charts are missing");
    check((await page.locator("section", { hasText: "Faults of" }).getByText("silent packet loss").count()) > 0, "link: its fault is not shown");
    await page.locator("main .table-frame a", { hasText: /^rank / }).first().click();
    await page.waitForFunction(() => location.hash.startsWith("#/jobs/slurm-4711?tab=paths&rank="));
    await settle(page);
    check((await page.locator("main tbody tr").count()) > 0, "link: a rank of a flow does not lead to its flows");
    await page.locator("main tbody a", { hasText: "leaf" }).first().click();
    await page.waitForFunction(() => location.hash.startsWith("#/fabric?at=leaf"));
  }

  async function lookAtExports(page) {
    await go(page, "#/findings?severity=critical");
    const csv = await download(page, page.getByRole("button", { name: /Save Findings as CSV/ }));
    const lines = csv.content.toString().trimEnd().split("\r\n");
    check(lines.length === 3 && lines[1].startsWith("critical,"), `findings: the CSV contains ${lines.length} lines, first ${lines[1]}`);
    const json = await download(page, page.getByRole("button", { name: /Save Findings as JSON/ }));
    check(JSON.parse(json.content.toString()).every(({ sentence }) => sentence), "findings: the JSON lacks fields");
    const anomalies = await download(page, page.getByRole("button", { name: /Save Entities with anomalous behaviour as CSV/ }));
    const rows = anomalies.content.toString().trimEnd().split("\r\n");
    check(rows.length === 2 && rows[1].includes("leaf3:Ethernet2"), `anomalies: the CSV contains ${rows}`);
    const group = page.locator(".anomalies-of-finding");
    check((await texts(page, ".anomalies-of-finding summary"))[0]?.startsWith("1 anomaly at the place and time of the finding Slow receiver, gpu-9:mlx5_1"), "anomalies: not grouped by finding");
    check(!(await group.locator("table").isVisible()), "anomalies: those of a finding are not folded");
    await group.locator("summary").click();
    check(await group.locator("table").isVisible(), "anomalies: those of a finding cannot be unfolded");
    check((await group.locator("a", { hasText: "Open the finding" }).getAttribute("href")).startsWith("#/findings/slow_receiver~gpu-9"), "anomalies: no link to the finding");
  }

  async function lookAtGroups(page) {
    await go(page, "#/fabric", fakes.large);
    check((await page.locator(".group-bar").innerText()).startsWith("16 pods."), "fabric: 1,024 hosts are not grouped by pod");
    await page.getByLabel("Open a pod").selectOption("pod 3");
    await page.waitForFunction(() => decodeURIComponent(location.hash).replace("+", " ").includes("open=pod 3"));
    check((await page.getByRole("button", { name: "Close pod 3" }).count()) === 1, "fabric: an open pod cannot be closed");
    await page.locator("summary", { hasText: "Heat map of load: 32 leaf switches × 4 spine switches" }).click();
    await page.locator("canvas.heat").hover({ position: { x: 3, y: 3 } });
    check(/^leaf0:Ethernet100 – spine0:Ethernet0: \d+ %/.test(await page.locator(".heat-text").innerText()), "fabric: a cell of the heat map does not name its link");
    await audit(page, "fabric, 1,024 hosts");
    await shoot(page, "fabric-of-1024");
  }

  async function lookAtAll(colorScheme, width) {
    const page = await open({ colorScheme, viewport: { width, height: 900 } });
    for (const [name, hash] of Object.entries(kPages)) {
      const where = `${name}, ${colorScheme}, ${width} px`;
      await page.goto("about:blank");
      await go(page, hash);
      await page.waitForTimeout(1500); // a refresh of the data must not move anything
      const shift = await page.evaluate(() => window.shift);
      check(shift <= kMaxShift, `${where}: layout shift of ${shift.toFixed(3)}`);
      await checkWidth(page, where);
      await audit(page, where);
      await shoot(page, `${name}-${colorScheme}-${width}`);
    }
    await page.context().close();
  }

  async function lookAtClicks() {
    const page = await open();
    for (const look of [lookAtJobs, lookAtHistory, lookAtHotspots, lookAtPaths, lookAtLink, lookAtExports, lookAtGroups]) {
      await look(page).catch((error) => note(`${look.name}: ${error.message.split("\n")[0]}`));
    }
    await page.context().close();
  }

  return [[lookAtClicks], [() => lookAtAll("light", 1280)], [() => lookAtAll("dark", 390)]];
}

// SPDX-License-Identifier: BSD-3-Clause
// Checks on the fake appliance that findings can be acknowledged and muted, and what refusals show.
import { settle } from "./settle.mjs";

const kFinding = "#/findings/gray_loss~leaf0:Ethernet101-spine1:Ethernet0~leaf0:Ethernet101";
const kOtherFinding = "#/findings/bit_errors~leaf2:Ethernet103-spine3:Ethernet2~leaf2:Ethernet103";
const kTimeoutMs = 30_000;

// Lists of checks, which can run at the same time.
export function reviewChecks({ note, check, open, audit, checkWidth, shoot }, { reviewed }) {
  const initial = { ...reviewed.state };

  async function go(page, hash) {
    await page.goto(reviewed.url + hash);
    await settle(page);
  }

  const panel = (page) => page.getByRole("region", { name: "Acknowledgement and mute" });
  const button = (page, name) => panel(page).getByRole("button", { name, exact: true });

  // Fills in the form that the button opens, and submits it.
  async function send(page, opener, { comment, duration }, submit) {
    await button(page, opener).click();
    if (duration) await panel(page).getByLabel("for").selectOption({ label: duration });
    await panel(page).getByLabel("comment").fill(comment);
    await button(page, submit).click();
  }

  const awaitText = (page, text, sentence) => panel(page).getByText(text).first().waitFor({ timeout: kTimeoutMs }).catch(() => note(sentence));

  async function lookAtAcknowledgement(page) {
    await go(page, kFinding);
    await send(page, "Acknowledge …", { comment: "ticket 4711" }, "Acknowledge");
    await awaitText(page, "Saved.", "acknowledge: does not say that it is saved");
    await awaitText(page, "ticket 4711", "acknowledge: the comment is not shown");
    const text = await panel(page).innerText();
    check(/acknowledged by ada (just now|now|\d+(\.\d+)? (ms|s|min) ago|< 1 s ago): ticket 4711/i.test(text), `acknowledge: does not show who and when: ${text}`);
    check((await button(page, "Acknowledge …").count()) === 0, "acknowledge: can be done twice");
    await audit(page, "acknowledged finding");
    await go(page, "#/findings");
    const row = page.getByRole("row", { name: /Silent packet loss/ });
    check((await row.innerText()).includes("acknowledged by ada"), "acknowledge: the table does not show who");
    await page.getByRole("combobox", { name: "review" }).selectOption("acknowledged");
    await page.getByText("1 of 4").waitFor({ timeout: kTimeoutMs }).catch(() => note("acknowledge: the filter does not find it"));
    await go(page, "#/overview");
    check((await page.locator(".active-findings .tag-acknowledged").count()) === 1, "acknowledge: the overview does not show it");
  }

  async function lookAtMute(page) {
    await go(page, kFinding);
    const before = Date.now();
    await send(page, "Mute …", { comment: "spare cable ordered", duration: "1 hour" }, "Mute");
    await awaitText(page, "spare cable ordered", "mute: the comment is not shown");
    const text = await panel(page).innerText();
    const [, until] = /muted by ada .* until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC/i.exec(text) ?? [];
    const lasts = Date.parse(`${until?.replace(" ", "T")}Z`) - before;
    check(lasts > 3590e3 && lasts < 3720e3, `mute: does not show who and until when: ${text}`);
    await shoot(page, "reviewed-finding", false);
    await audit(page, "muted finding");
    await checkWidth(page, "muted finding");

    await go(page, "#/findings");
    const list = page.getByRole("region", { name: "Findings, the worst first", exact: true }).locator("tbody tr");
    const muted = page.getByRole("region", { name: "Muted findings, the worst first" }).locator("tbody tr");
    check((await list.count()) === 3, "mute: the finding is still in the list of findings that alert");
    check(!(await muted.isVisible()), "mute: the muted findings are not collapsed");
    await page.getByText("1 muted finding").click();
    check(/muted by ada until \d{4}-\d\d-\d\d \d\d:\d\d UTC/.test(await muted.innerText()), "mute: the table does not show until when");
    await page.getByRole("combobox", { name: "review" }).selectOption("open");
    await page.getByText("3 of 4").waitFor({ timeout: kTimeoutMs }).catch(() => note("mute: the filter shows a muted finding as open"));
    await go(page, "#/overview");
    await page.getByRole("link", { name: "1 muted" }).click();
    await muted.waitFor({ timeout: kTimeoutMs }).catch(() => note("mute: the overview does not lead to the muted finding"));
    check((await list.count()) === 0 && (await page.getByRole("combobox", { name: "review" }).inputValue()) === "muted", "mute: the filter shows other findings");
    await audit(page, "muted findings");
  }

  async function lookAtRemoval(page) {
    await go(page, kFinding);
    await button(page, "Unmute").click();
    await panel(page).getByText("spare cable ordered").waitFor({ state: "hidden", timeout: kTimeoutMs }).catch(() => note("unmute: the mute stays"));
    check((await button(page, "Mute …").count()) === 1, "unmute: it cannot be muted again");
    await button(page, "Withdraw").click();
    await panel(page).getByText("ticket 4711").waitFor({ state: "hidden", timeout: kTimeoutMs }).catch(() => note("withdraw: the acknowledgement stays"));
    check((await button(page, "Acknowledge …").count()) === 1, "withdraw: it cannot be acknowledged again");
    await go(page, "#/findings?review=muted");
    await page.getByText("No finding matches the filter.").waitFor({ timeout: kTimeoutMs }).catch(() => note("unmute: the filter still finds the mute"));
  }

  async function lookAtFailures(page) {
    await go(page, kFinding);
    reviewed.state.storageProblem = "the disk is full";
    await send(page, "Acknowledge …", { comment: "kept in memory" }, "Acknowledge");
    await awaitText(page, "The change is lost if the appliance restarts: the disk is full", "storage: does not say that the change is not on disk");
    reviewed.state.storageProblem = "";

    await go(page, kOtherFinding);
    Object.assign(reviewed.state, { user: "eve", isOperator: false });
    await send(page, "Mute …", { comment: "no" }, "Mute");
    await panel(page).getByRole("alert").waitFor({ timeout: kTimeoutMs }).catch(() => note("refusal: no error is shown"));
    const text = await panel(page).innerText();
    check(text.includes("Not saved: \"eve\" may not call /api/v1/findings:mute"), `refusal: does not say why: ${text}`);
    check((await panel(page).getByRole("button").count()) === 0, "refusal: the buttons stay");
    await audit(page, "refused mute");
    await shoot(page, "refused-mute", false);
    // Within the page, which remembers the refusal.
    await page.evaluate((hash) => { location.hash = hash; }, kFinding);
    await awaitText(page, "You cannot acknowledge or mute findings", "refusal: another finding does not say why it has no buttons");
    await go(page, "#/findings?review=muted");
    check((await page.locator("main").innerText()).includes("No finding matches the filter."), "refusal: the finding is muted nevertheless");
  }

  return [[async function lookAtReviews() {
    const page = await open();
    try {
      await lookAtAcknowledgement(page);
      await lookAtMute(page);
      await lookAtRemoval(page);
      await lookAtFailures(page);
    } finally {
      Object.assign(reviewed.state, initial);
      reviewed.reviews.clear();
      await page.context().close();
    }
  }]];
}

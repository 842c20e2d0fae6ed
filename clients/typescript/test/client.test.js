// Against the server in MEMORYBOOK_URL, with the owner's token in MEMORYBOOK_TOKEN: tests/test_typescript.py starts one.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import { promisify } from "node:util";

import { connect, MemoryBook, MemoryBookError } from "../dist/index.js";

const url = process.env.MEMORYBOOK_URL;
const token = process.env.MEMORYBOOK_TOKEN;
const book = new MemoryBook({ url: `${url}/`, token });

test("what is remembered is found, listed, recalled and forgotten", async () => {
  const kept = await book.remember("The user prefers green tea.", { category: "preference", importance: "high" });
  await book.remember("用户对芒果过敏。", { tags: ["健康"] });
  assert.equal((await book.entries({ category: "preference" })).entries.length, 1);
  const found = await book.search("which tea does the user prefer?", { max_results: 3 });
  assert.match(found.hits[0].snippet, /green tea/);
  const block = await book.recall("用户能吃芒果吗？");
  assert.match(JSON.stringify(block), /芒果过敏/);
  await book.forget({ target: kept.known.entry.id, dry_run: true });
  assert.equal((await book.entries()).entries.length, 2);
  const forgotten = await book.forget({ target: kept.known.entry.id });
  assert.equal((await book.entries()).entries.length, 1);
  await book.undo(forgotten.operation);
  assert.equal((await book.entries()).entries.length, 2);
  assert.equal((await book.confirm(kept.known.entry.id)).entry.id, kept.known.entry.id);
});

test("a conversation is stored, ended and remembered", async () => {
  await book.openSession({ name: "ts-1" });
  await book.addMessages("ts-1", [
    { role: "user", content: "Remember that the staging database is called heron." },
    { role: "assistant", content: "Noted." },
  ]);
  await book.endSession("ts-1");
  const texts = (await book.entries()).entries.map((known) => known.entry.text);
  assert.ok(texts.includes("The staging database is called heron."), String(texts));
});

test("a conversation that is sent at once is remembered once, and recalled", async () => {
  const talk = [{ role: "user", content: "记住：生产环境用的是蓝鲸集群。" }];
  await book.processSessionEnd(talk, { session_id: "ts-2" });
  await book.processSessionEnd(talk, { session_id: "ts-2" });
  const told = (await book.entries()).entries.filter((known) => known.entry.text.includes("蓝鲸"));
  assert.equal(told.length, 1);
  assert.match(JSON.stringify(await book.recollect("我们之前聊过蓝鲸集群吗？")), /蓝鲸/);
  assert.equal(await book.recollect("Hello."), null);
});

test("every path is there, with what it takes and answers", async () => {
  assert.ok(await book.status());
  const { data } = await book.api.GET("/api/v1/documents");
  assert.ok(data);
});

test("an entry is changed, and a document only if nobody else changed it", async () => {
  const id = (await book.remember("The office is in Oslo.")).known.entry.id;
  assert.equal((await book.update(id, { pinned: true, tags: ["地点"] })).entry.pinned, true);
  const { revision } = await book.writeDocument("plans/计划 1.md", "# Plan", { expect: "" });
  assert.deepEqual(await book.document("plans/计划 1.md").then((one) => [one.text, one.revision]), ["# Plan", revision]);
  await book.writeDocument("plans/计划 1.md", "# Our plan", { expect: revision });
  await assert.rejects(book.writeDocument("plans/计划 1.md", "# My plan", { expect: revision }), (error) => {
    assert.deepEqual([error.status, error.code, error.current.text], [409, "conflict", "# Our plan"]);
    return true;
  });
  await book.writeDocument("plans/计划 1.md", "# My plan");
  assert.equal((await book.document("plans/计划 1.md")).text, "# My plan");
});

test("refusals are errors with the code and words of the server", async () => {
  await assert.rejects(book.forget({ target: "zzzzzz" }), (error) => {
    assert.ok(error instanceof MemoryBookError);
    assert.deepEqual([error.status, error.code], [404, "not_found"]);
    assert.ok(error.message.includes("zzzzzz") && error.requestId);
    return true;
  });
  await assert.rejects(book.remember(""), { status: 400 });
  const stranger = new MemoryBook({ url, token: "not-the-token" });
  await assert.rejects(stranger.entries(), { status: 401, name: "MemoryBookError" });
});

/** A server that answers with each of these in turn; null breaks the connection, undefined never answers. */
async function answering(answers, run) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.headers["x-memorybook-tenant"] ?? ""}`);
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (answer === null) return request.socket.destroy();
    if (answer === undefined) return undefined;
    const [status, body, headers] = answer;
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${server.address().port}`, asked);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const BUSY = [503, { error: { code: "busy", message: "busy" } }];
const LISTED = [200, { entries: [] }];

test("what was not begun, and reads that broke, are sent again", async () => {
  await answering([BUSY, [200, {}]], async (at, asked) => {
    await new MemoryBook({ url: at, token: "t", tenant: "ann" }).remember("x");
    assert.deepEqual(asked, ["POST ann", "POST ann"]);
  });
  await answering([null, LISTED], async (at, asked) => {
    assert.deepEqual(await new MemoryBook({ url: at, token: "t" }).entries(), { entries: [] });
    assert.equal(asked.length, 2);
  });
});

test("a write that broke is not sent again, and what stays busy is told", async () => {
  await answering([null], async (at, asked) => {
    await assert.rejects(new MemoryBook({ url: at, token: "t" }).remember("x"), {
      status: 0,
      code: "unavailable",
      message: /may be done all the same/,
    });
    assert.equal(asked.length, 1);
  });
  await answering([BUSY], async (at, asked) => {
    await assert.rejects(new MemoryBook({ url: at, token: "t" }).entries(), { code: "busy" });
    assert.equal(asked.length, 3);
  });
});

test("whoever asked may stop waiting, and gets the reason", async () => {
  await answering([undefined], async (at, asked) => {
    const waiting = new MemoryBook({ url: at, token: "t" });
    await assert.rejects(waiting.entries({}, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
    const stop = new AbortController();
    const asking = waiting.remember("x", {}, { signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(asking, { name: "AbortError" });
    assert.equal(asked.length, 2);
  });
});

test("other servers, redirects, lateness and nobody are told apart from a book", async () => {
  await answering([[500, "oops"]], async (at) => {
    await assert.rejects(new MemoryBook({ url: at, token: "t" }).entries(), { message: /is the address right/ });
  });
  await answering([[302, {}, { Location: `${url}/api/v1/entries` }]], async (at) => {
    await assert.rejects(new MemoryBook({ url: at, token }).entries(), { code: "unavailable" });
  });
  await answering([undefined], async (at, asked) => {
    await assert.rejects(new MemoryBook({ url: at, token, timeout: 50 }).entries(), { message: /in time/ });
    assert.equal(asked.length, 1);
  });
  await assert.rejects(connect({ url: "http://127.0.0.1:9", token }).GET("/livez"), { code: "unavailable", status: 0 });
});

test("the quick start of the README does what it says", async () => {
  const quickstart = await readFile(new URL("../examples/quickstart.ts", import.meta.url), "utf8");
  const shown = await readFile(new URL("../README.md", import.meta.url), "utf8");
  assert.ok(shown.includes(`\`\`\`ts\n${quickstart}\`\`\``), "README.md shows examples/quickstart.ts");
  const program = new URL("../build/examples/quickstart.js", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  assert.match(stdout, /green tea[^]*芒果过敏[^]*404 not_found/);
});

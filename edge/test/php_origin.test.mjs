/**
 * The worker before a PHP origin: origin.php under `php -S`, or the one at EDGE_ORIGIN (host:port),
 * which allows EDGE_ORIGIN_LIMIT requests a minute and client on EDGE_ORIGIN_PATH and shares EDGE_SECRET.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { SECRET, send, startEdge, startOrigin } from "./support.mjs";

const {
  EDGE_ORIGIN,
  EDGE_SECRET = SECRET,
  EDGE_ORIGIN_LIMIT = "3",
  EDGE_ORIGIN_PATH = "/api/v1/trending",
} = process.env;

async function startPhp(t) {
  const state = mkdtempSync(join(tmpdir(), "edge-origin-"));
  const script = new URL("origin.php", import.meta.url).pathname;
  const env = { ...process.env, STATE: state, EDGE_SECRET };
  const php = spawn("php", ["-n", "-S", "127.0.0.1:0", script], { env, stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => {
    php.kill();
    rmSync(state, { recursive: true });
  });
  for await (const line of createInterface(php.stderr)) {
    const started = line.match(/\(http:\/\/(.*)\) started/);
    if (started) return started[1];
  }
  throw new Error("php -S did not start");
}

/** Passes everything on to `target`: `seen` counts what the origin was asked. */
const startCounter = (t, target) =>
  startOrigin(t, (request, response) => {
    const { method, url: path, headers } = request;
    const [host, port] = target.split(":");
    const onward = http.request({ host, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });

test("a PHP origin's verdict is held for its client and nobody else", async (t) => {
  const target = EDGE_ORIGIN ?? (await startPhp(t));
  const counter = await startCounter(t, target);
  const edge = await startEdge(t, counter.address, { secret: EDGE_SECRET });
  const [abuser, honest] = [0, 1].map((net) => `198.${18 + net}.${randomInt(256)}.${randomInt(1, 255)}`);
  const limit = Number(EDGE_ORIGIN_LIMIT);

  for (let count = 0; count < limit; count++) {
    assert.equal((await send(edge, EDGE_ORIGIN_PATH, { ip: abuser })).status, 200);
  }
  for (let count = 0; count < 5; count++) {
    const denied = await send(edge, EDGE_ORIGIN_PATH, { ip: abuser });
    assert.equal(denied.status, 429);
    assert.ok(Number(denied.headers["retry-after"]) >= 1);
    assert.equal(denied.headers["ratelimit-edge"], undefined);
  }
  assert.equal(counter.seen.length, limit + 1);
  assert.equal((await send(edge, EDGE_ORIGIN_PATH, { ip: honest })).status, 200);

  const [hostname, port] = target.split(":");
  const forged = { "RateLimit-Edge": `${Math.floor(Date.now() / 1000)}:forged` };
  const past = await send({ hostname, port }, EDGE_ORIGIN_PATH, { ip: abuser, headers: forged });
  assert.equal(past.headers["ratelimit-edge"], undefined);
  assert.ok(EDGE_ORIGIN || String(past.body) === "127.0.0.1", "a request past the edge chose its address");
});

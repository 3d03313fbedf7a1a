/** The coarse limit: what is counted, as whom, and what a denied client reads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOST, send, startEdge, startOrigin, wrangler } from "./support.mjs";

const PERIOD = wrangler.ratelimits[0].simple.period;

/** The stand-in for the binding counts from one multiple of the period to the next: not across one. */
async function withinOnePeriod(seconds) {
  const left = PERIOD * 1000 - (Date.now() % (PERIOD * 1000));
  if (left < seconds * 1000) await new Promise((resolve) => setTimeout(resolve, left + 50));
}

async function statuses(edge, path, count, options) {
  const sent = Array.from({ length: count }, () => send(edge, path, options));
  return (await Promise.all(sent)).map((response) => response.status).sort();
}

test("600 requests a minute reach the origin and the next is denied at the edge", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address);
  await withinOnePeriod(10);
  const answers = await statuses(edge, "/api/v1/trending", 605);
  assert.equal(answers.filter((status) => status === 200).length, 600);
  assert.equal(answers.filter((status) => status === 429).length, 5);
  assert.equal(origin.seen.length, 600);

  const denied = await send(edge, "/api/v1/search");
  assert.equal(denied.status, 429);
  assert.deepEqual(denied.json, { error: "rate_limited", scope: "edge" });
  assert.equal(denied.headers["retry-after"], String(PERIOD));
  assert.equal(denied.headers["cache-control"], "no-store");
  assert.equal(denied.headers["content-type"], "application/json");
  assert.equal(denied.headers["access-control-allow-origin"], "*");
  assert.equal(denied.headers["access-control-expose-headers"], "Retry-After");

  assert.equal((await send(edge, "/api/v1/trending", { ip: "192.0.2.2" })).status, 200);
  assert.equal((await send(edge, "/")).status, 200);
  assert.equal(origin.seen.length, 602);
});

test("every spelling of /api/, every method and every spelling of an address spend one budget", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address, { limit: 9 });
  await withinOnePeriod(5);
  for (const [path, options] of [
    ["/api/x"],
    ["//api//x"],
    ["/%61pi/x"],
    ["/%2Fapi%2fx"],
    ["/a/../api/x"],
    ["/a/%2e%2E/api/x"],
    ["/a\\..\\api\\x", { ip: "::ffff:192.0.2.1" }],
    ["/api%5cx", { method: "HEAD", ip: "::FFFF:C000:0201" }],
    ["/api/", { method: "OPTIONS" }],
  ]) {
    assert.equal((await send(edge, path, options)).status, 200, path);
  }
  assert.equal((await send(edge, "/api/y?z")).status, 429);
  const head = await send(edge, "/%61%70%69/", { method: "HEAD" });
  assert.deepEqual([head.status, head.headers["retry-after"], head.body.length], [429, String(PERIOD), 0]);
  assert.equal(origin.seen.length, 9);
});

test("an IPv6 /64 is one client and its neighbour another", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address, { limit: 2 });
  await withinOnePeriod(5);
  for (const [ip, status] of [
    ["2001:db8:0:1::1", 200],
    ["2001:DB8::1:ffff:0:0:2", 200],
    ["2001:db8:0:1:0:0:0:3", 429],
    ["2001:db8:0:2::1", 200],
  ]) {
    assert.equal((await send(edge, "/api/x", { ip })).status, status, ip);
  }
});

test("requests without an address share one budget", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address, { limit: 2 });
  await withinOnePeriod(5);
  assert.equal((await send(edge, "/api/x", { ip: null })).status, 200);
  assert.equal((await send(edge, "/api/x", { ip: "no address" })).status, 200);
  assert.equal((await send(edge, "/api/x", { ip: "192.0.2.1, 192.0.2.9" })).status, 429);
  assert.equal((await send(edge, "/api/x", { ip: "192.0.2.1" })).status, 200);
});

test("what is not under /api/ is never limited", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address, { limit: 1 });
  for (const path of ["/", "/api", "/apix/", "/x/api/", "/api/../x", "/api%2f%2e%2e%2fx", "/API/x", "/?/api/"]) {
    assert.deepEqual(await statuses(edge, path, 3), [200, 200, 200], path);
  }
});

test("the origin is sent the path that was judged", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address);
  const sent = {
    "/api//x%2fy/%7Ez?a=%2e%2e/b": "/api//x%2fy/%7Ez?a=%2e%2e/b",
    "/x//../api/": "/x/api/",
    "/x/%2e%2e/api/": "/api/",
    "/a\\..\\api\\x": "/api/x",
    "//other.example/api/": "//other.example/api/",
  };
  for (const path of Object.keys(sent)) await send(edge, path);
  assert.deepEqual(origin.seen.map(({ url }) => url), Object.values(sent));
  assert.ok(origin.seen.every(({ headers }) => headers.host === HOST));
});

test("a rate limiting binding that fails lets requests through to the exact limit", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address, { ratelimits: {} });
  assert.deepEqual(await statuses(edge, "/api/x", 3), [200, 200, 200]);
});

/** The origin's verdict held at the edge: for whom, for what, how long, and on whose word. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOST, SECRET, deny, hmac, mark, send, startEdge, startOrigin } from "./support.mjs";

const PATH = "/api/v1/trending";
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("an abuser costs the origin one request a window and reads a falling Retry-After", async (t) => {
  let until;
  const origin = await startOrigin(t, (request, response) => {
    until = Date.now() + 3000;
    deny("3")(request, response);
  });
  const edge = await startEdge(t, origin.address);

  const first = await send(edge, PATH);
  assert.deepEqual([first.status, first.headers["retry-after"]], [429, "3"]);
  assert.equal(String(first.body), "the origin's own words");

  const waits = new Set();
  while (until - Date.now() > 500) {
    const held = await send(edge, PATH);
    assert.equal(held.status, 429);
    assert.deepEqual(held.json, { error: "rate_limited", scope: "origin" });
    assert.equal(held.headers["cache-control"], "no-store");
    const wait = Number(held.headers["retry-after"]);
    const left = (until - Date.now()) / 1000;
    assert.ok(wait > left && wait < left + 1.5, `${wait} s with ${left} s left`);
    waits.add(wait);
    await sleep(20);
  }
  assert.deepEqual([...waits], [3, 2, 1]);
  assert.equal(origin.seen.length, 1);

  await sleep(1000);
  await send(edge, PATH);
  assert.equal(origin.seen.length, 2);
});

test("a long verdict is asked for again after 60 s, and says how long it really is", async (t) => {
  const origin = await startOrigin(t, deny("3600"));
  const edge = await startEdge(t, origin.address);
  await send(edge, PATH);
  const wait = Number((await send(edge, PATH)).headers["retry-after"]);
  assert.ok(wait > 3590 && wait <= 3600, String(wait));

  const name = hmac(`name|${JSON.stringify(["192.0.2.1", "GET", HOST, PATH])}`);
  const stored = await (await edge.caches.open("rate-limit-verdicts")).match(`https://${HOST}/${name}`);
  assert.equal(stored.headers.get("cache-control"), "max-age=60");
});

test("a verdict holds for every spelling of its route, query and client", async (t) => {
  const origin = await startOrigin(t, deny("30"));
  const edge = await startEdge(t, origin.address);
  await send(edge, PATH, { ip: "2001:db8:0:1::1" });
  for (const [path, ip] of [
    [`${PATH}?page=2`, "2001:db8:0:1::1"],
    ["//api//v1/trending", "2001:db8:0:1::1"],
    ["/%61pi%2fv1/%74rending", "2001:db8:0:1::1"],
    ["/api/v1/x/../trending", "2001:db8:0:1::1"],
    [PATH, "2001:DB8::1:ffff:ffff:ffff:ffff"],
  ]) {
    assert.deepEqual((await send(edge, path, { ip })).json.scope, "origin", path);
  }
  assert.equal(origin.seen.length, 1);
});

test("a verdict holds for nobody and nothing else", async (t) => {
  const origin = await startOrigin(t, deny("30"));
  const edge = await startEdge(t, origin.address);
  await send(edge, PATH, { ip: "2001:db8:0:1::1" });
  const others = [
    [PATH, { ip: "2001:db8:0:2::1" }],
    [PATH, { ip: "192.0.2.1" }],
    [PATH, { method: "POST" }],
    [PATH, { method: "HEAD" }],
    [PATH, { method: "OPTIONS" }],
    [`${PATH}/`, {}],
    ["/api/v1/Trending", {}],
    ["/api/v1/trending%3f", {}],
    ["/trending", {}],
    [PATH, { headers: { Host: "other.example.com" } }],
  ];
  for (const [path, options] of others) await send(edge, path, { ip: "2001:db8:0:1::1", ...options });
  assert.equal(origin.seen.length, 1 + others.length);
});

test("an honest client is served while its neighbour is denied", async (t) => {
  const abuser = "192.0.2.66";
  const origin = await startOrigin(t, (request, response) =>
    request.headers["cf-connecting-ip"] === abuser ? deny("30")(request, response) : response.end("fine"),
  );
  const edge = await startEdge(t, origin.address);
  for (let round = 0; round < 20; round++) {
    assert.equal((await send(edge, PATH, { ip: abuser })).status, 429);
    assert.equal((await send(edge, PATH, { ip: "192.0.2.67" })).status, 200);
  }
  assert.equal(origin.seen.length, 21);
});

test("a denied upload is answered without its body reaching the origin", async (t) => {
  const origin = await startOrigin(t, deny("30"));
  const edge = await startEdge(t, origin.address);
  const upload = { method: "POST", body: Buffer.alloc(100_000) };
  assert.equal((await send(edge, PATH, upload)).status, 429);
  assert.equal((await send(edge, PATH, upload)).json.scope, "origin");
  assert.equal(origin.seen.length, 1);
});

/** How often the origin is asked in two requests to which it answers 429 with these headers. */
async function asked(t, headers, { status = 429, path = PATH, ip, secret, method } = {}) {
  const origin = await startOrigin(t, (request, response) => {
    response.writeHead(status, typeof headers === "function" ? headers(request) : headers);
    response.end("as it was");
  });
  const edge = await startEdge(t, origin.address, secret === undefined ? {} : { secret });
  for (let count = 0; count < 2; count++) {
    const response = await send(edge, path, { ip, method });
    assert.equal(response.headers["ratelimit-edge"], undefined);
    if (origin.seen.length === count + 1) assert.equal(String(response.body), "as it was");
  }
  return origin.seen.length;
}

test("a 429 without a true mark is passed on and not remembered", async (t) => {
  const marks = {
    "no mark": () => undefined,
    "an empty mark": () => "",
    "the secret itself": () => SECRET,
    "the proof sent back": (request) => request.headers["ratelimit-edge"],
    "its signature sent back": (request) => request.headers["ratelimit-edge"].split(":")[1],
    "another secret's": (request) => mark(request, "f".repeat(32)),
    "another request's": () => hmac(`verdict|1:${hmac("request|1|192.0.2.1")}`),
    "one digit short": (request) => mark(request).slice(1),
    "in capitals": (request) => mark(request).toUpperCase(),
    "two at once": (request) => [mark(request), mark(request)],
  };
  for (const [name, value] of Object.entries(marks)) {
    const headers = (request) => {
      const given = value(request);
      return { "Retry-After": "30", ...(given !== undefined && { "RateLimit-Edge": given }) };
    };
    assert.equal(await asked(t, headers), 2, name);
  }
});

test("only a marked 429 under /api/ from a client with an address is remembered", async (t) => {
  const headers = (request) => ({ "Retry-After": "30", "RateLimit-Edge": mark(request) });
  assert.equal(await asked(t, headers), 1);
  assert.equal(await asked(t, headers, { status: 200 }), 2);
  assert.equal(await asked(t, headers, { status: 503 }), 2);
  assert.equal(await asked(t, headers, { path: "/login" }), 2);
  assert.equal(await asked(t, headers, { ip: null }), 2);
  assert.equal(await asked(t, headers, { ip: "not an address" }), 2);
});

test("without a secret of 32 characters nothing is signed, believed or remembered", async (t) => {
  for (const secret of [null, "", SECRET.slice(1)]) {
    const headers = (request) => {
      assert.equal(request.headers["ratelimit-edge"], undefined);
      return { "Retry-After": "30", "RateLimit-Edge": hmac("verdict|", secret ?? "") };
    };
    assert.equal(await asked(t, headers, { secret }), 2);
  }
});

test("Retry-After as an HTTP date is remembered until that instant", async (t) => {
  const date = new Date(Date.now() + 20_000).toUTCString();
  const origin = await startOrigin(t, deny(date));
  const edge = await startEdge(t, origin.address);
  assert.equal((await send(edge, PATH)).headers["retry-after"], date);
  const wait = Number((await send(edge, PATH)).headers["retry-after"]);
  assert.ok(wait >= 17 && wait <= 20, String(wait));
  assert.equal(origin.seen.length, 1);
});

test("a marked 429 whose Retry-After cannot be read is passed on and not remembered", async (t) => {
  const past = new Date(Date.now() - 20_000).toUTCString();
  for (const value of [undefined, "", "0", "-5", "2.5", "soon", "30, 60", past]) {
    const headers = (request) => ({
      "RateLimit-Edge": mark(request),
      ...(value !== undefined && { "Retry-After": value }),
    });
    assert.equal(await asked(t, headers), 2, String(value));
  }
});

test("a client can neither read nor send what the worker and the origin say to each other", async (t) => {
  const origin = await startOrigin(t, deny("30"));
  const edge = await startEdge(t, origin.address);
  const forged = { "RateLimit-Edge": "1:forged" };
  for (const path of [PATH, "/elsewhere"]) {
    const before = Math.floor(Date.now() / 1000);
    const { headers } = await send(edge, path, { headers: forged });
    assert.equal(headers["ratelimit-edge"], undefined);
    const [seconds, signature] = origin.seen.at(-1).headers["ratelimit-edge"].split(":");
    assert.ok(seconds >= before && seconds <= Date.now() / 1000);
    assert.equal(signature, hmac(`request|${seconds}|192.0.2.1`));
  }
  const unsigned = await startEdge(t, origin.address, { secret: null });
  await send(unsigned, "/", { headers: forged });
  assert.equal(origin.seen.at(-1).headers["ratelimit-edge"], undefined);
});

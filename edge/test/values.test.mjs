/** Paths, addresses and Retry-After as functions of their arguments. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { SECRET, hmac, load } from "./support.mjs";

const { routeOf } = await load("route");
const { clientOf } = await load("client");
const { retryInstant, secondsUntil } = await load("retry_after");
const { Secret } = await load("secret");

const pathname = (path) => new URL(`http://api.example.com${path}`).pathname;

test("every spelling of a path is one route", () => {
  for (const path of [
    "/api/v1/trending",
    "/%61pi/v1/trending",
    "/%61%70%69%2fv1%2Ftrending",
    "//api///v1//trending",
    "/api%2F%2fv1/trending",
    "/./api/./v1/trending",
    "/x/../api/v1/trending",
    "/x/%2e%2E/api/v1/trending",
    "/x%2f..%2fapi/v1/trending",
    "/x/%2f..%2fapi/v1/trending",
    "\\api\\v1\\trending",
    "/api%5cv1%5Ctrending",
    "/../../api/v1/trending",
    "/%2e%2e%2fapi/v1/trending",
    "/api/v1/%74%72ending?a=/api/../..",
  ]) {
    assert.equal(routeOf(pathname(path)), "/api/v1/trending", path);
  }
});

test("paths that may be different routes stay apart", () => {
  const routes = [
    "/api/x", "/api/x/", "/api/X", "/API/x", "/api/%78%79", "/api/x%3fa", "/api/%zz", "/api/%", "/api/%ff",
    "/api/%c3%bf", "/api/%00", "/api/+", "/api/%2b%20", "/api/x;y",
  ];
  assert.equal(new Set(routes.map((path) => routeOf(pathname(path)))).size, routes.length);
});

test("a path is decoded once, as an origin does", () => {
  assert.equal(routeOf(pathname("/%2561pi/x")), "/%61pi/x");
  assert.equal(routeOf(pathname("/api/%252e%252e/x")), "/api/%2e%2e/x");
});

test("what leaves /api/ or only resembles it is not in it", () => {
  for (const path of [
    "/", "/api", "/apix/", "/x/api/", "/api/../x", "/api/%2e%2e/x", "/api%2f..%2fx", "/api/..%5cx", "/ap%69",
    "/?/api/", "/API/x", "/api.json",
  ]) {
    assert.ok(!routeOf(pathname(path)).startsWith("/api/"), path);
  }
  for (const path of ["/api/", "/api/.", "/api/x/..", "/api%2f", "/api/%2e%2e/api/%2e"]) {
    assert.equal(routeOf(pathname(path)), "/api/", path);
  }
});

test("every spelling of an address is one client", () => {
  const spellings = {
    "192.0.2.1": ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:c000:0201"],
    "2001:db8:0:1::/64": [
      "2001:db8:0:1::1",
      "2001:DB8::1:0:0:0:2",
      "2001:db8:0:1::",
      "2001:0db8:0000:0001:ffff:ffff:ffff:ffff",
      "2001:db8:0:1:0:0:192.0.2.1",
    ],
    "0:0:0:0::/64": ["::", "::1", "::192.0.2.1", "::fffe:192.0.2.1"],
    "1:2:3:4::/64": ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "1:2:3:4::"],
  };
  for (const [client, addresses] of Object.entries(spellings)) {
    for (const address of addresses) assert.equal(clientOf(address), client, address);
  }
  assert.notEqual(clientOf("2001:db8:0:1::1"), clientOf("2001:db8:0:2::1"));
});

test("what is not an address is no client", () => {
  for (const text of [
    "", "unknown", "192.0.2", "192.0.2.256", "192.0.2.01", "0x7f.1", "192.0.2.1:80", " 192.0.2.1",
    "192.0.2.1, 192.0.2.2", "[2001:db8::1]", "fe80::1%eth0", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
    "12345::", "::]/@[::", "g::",
  ]) {
    assert.equal(clientOf(text), null, text);
  }
});

test("Retry-After is whole seconds or an HTTP date in the future", () => {
  const now = Date.UTC(2026, 0, 5, 12, 0, 0);
  assert.equal(retryInstant("30", now), now + 30_000);
  assert.equal(retryInstant("007", now), now + 7_000);
  assert.equal(retryInstant("9999999999", now), now + 9_999_999_999_000);
  assert.equal(retryInstant("Mon, 05 Jan 2026 12:00:10 GMT", now), now + 10_000);
  for (const value of [
    null, "", "0", "-1", "+1", "1.5", "1e3", "30s", "30, 60", "99999999999", "soon", "0x10", "٣", "2027-01-01",
    "2027-01-01T00:00:00Z",
  ]) {
    assert.equal(retryInstant(value, now), null, String(value));
  }
  for (const value of [
    "Mon, 05 Jan 2026 12:00:00 GMT", "Sun, 04 Jan 2026 12:00:10 GMT", "Mon, 05 Xyz 2027 12:00:10 GMT",
    "Mon, 05 Jan 2027 12:00:10", "Monday, 05-Jan-27 12:00:10 GMT",
  ]) {
    assert.equal(retryInstant(value, now), null, value);
  }
});

test("seconds are rounded up and never below 1", () => {
  assert.deepEqual([1, 999, 1000, 1001].map((ms) => secondsUntil(5_000 + ms, 5_000)), [1, 1, 1, 2]);
});

test("the proof and the mark are those of the documentation", async () => {
  const page = readFileSync(new URL("../../docs/cloudflare.md", import.meta.url), "utf8");
  const secret = await Secret.from(SECRET);
  const proof = await secret.signRequest("192.0.2.1", 1764590400_999);
  assert.ok(page.includes(`RateLimit-Edge: ${proof}\n`), proof);
  assert.ok(page.includes(`RateLimit-Edge: ${hmac(`verdict|${proof}`)}\n`));
});

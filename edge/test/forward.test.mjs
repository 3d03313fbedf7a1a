/** What is passed on untouched, and what happens when the origin is not there. */
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { WebSocket, WebSocketServer } from "ws";
import { HOST, deny, send, startEdge, startOrigin } from "./support.mjs";

test("the origin is told the client's address as it was, and no other", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address);
  for (const ip of ["192.0.2.1", "2001:DB8:0:1::1", undefined]) {
    await send(edge, "/api/x", { ip: ip ?? null, headers: { "X-Real-IP": "192.0.2.99" } });
    assert.equal(origin.seen.at(-1).headers["cf-connecting-ip"], ip);
    assert.equal(origin.seen.at(-1).headers["x-real-ip"], ip);
  }
});

test("HEAD, OPTIONS, redirects, cookies and errors are passed on", async (t) => {
  const origin = await startOrigin(t, (request, response) => {
    const moved = request.url === "/api/old";
    response.writeHead(moved ? 302 : 418, [
      ["Set-Cookie", "a=1"],
      ["Set-Cookie", "b=2"],
      ["Location", "/api/new"],
      ["Content-Length", "4"],
      ["X-Own", "yes"],
    ].flat());
    response.end(request.method === "HEAD" ? undefined : "body");
  });
  const edge = await startEdge(t, origin.address);
  for (const method of ["HEAD", "OPTIONS", "GET", "DELETE"]) {
    const response = await send(edge, "/api/old", { method, headers: { "X-Client": "z" } });
    assert.equal(response.status, 302);
    assert.deepEqual(response.headers["set-cookie"], ["a=1", "b=2"]);
    assert.equal(response.headers["x-own"], "yes");
    assert.equal(response.headers["content-length"], "4");
    assert.equal(String(response.body), method === "HEAD" ? "" : "body");
    assert.equal(origin.seen.at(-1).method, method);
    assert.equal(origin.seen.at(-1).headers["x-client"], "z");
  }
  assert.equal((await send(edge, "/api/x")).status, 418);
});

test("a compressed verdict loses its mark and nothing else", async (t) => {
  const body = gzipSync("denied ".repeat(100));
  const origin = await startOrigin(t, (request, response) => {
    response.setHeader("Content-Encoding", "gzip");
    const end = response.end.bind(response);
    response.end = () => end(body);
    deny("30")(request, response);
  });
  const edge = await startEdge(t, origin.address);
  const response = await send(edge, "/api/x", { headers: { "Accept-Encoding": "gzip" } });
  assert.equal(response.headers["content-encoding"], "gzip");
  assert.equal(String(gunzipSync(response.body)), "denied ".repeat(100));
});

test("bodies stream in both directions", async (t) => {
  const origin = await startOrigin(t, async (request, response) => {
    for await (const chunk of request) response.write(`got ${chunk}`);
    response.end();
  });
  const edge = await startEdge(t, origin.address);
  const request = http.request({
    host: edge.hostname, port: edge.port, path: "/api/stream", method: "POST",
    headers: { Host: HOST, "CF-Connecting-IP": "192.0.2.1" },
  });
  request.write("one");
  const [response] = await once(request, "response");
  assert.equal(String((await once(response, "data"))[0]), "got one");
  request.write("two");
  assert.equal(String((await once(response, "data"))[0]), "got two");
  request.end();
  await once(response.resume(), "end");
});

test("a WebSocket is passed through", async (t) => {
  const origin = await startOrigin(t);
  const sockets = new WebSocketServer({ server: origin.server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`echo ${data}`)));
  const edge = await startEdge(t, origin.address);
  const headers = { Host: HOST, "CF-Connecting-IP": "192.0.2.1" };
  const socket = new WebSocket(`ws://${edge.hostname}:${edge.port}/api/live`, { headers });
  await once(socket, "open");
  socket.send("hello");
  assert.equal(String((await once(socket, "message"))[0]), "echo hello");
  socket.close();
  await once(socket, "close");
});

test("an origin that cannot be reached is a 502 that is not remembered", async (t) => {
  const origin = await startOrigin(t);
  const edge = await startEdge(t, origin.address);
  origin.server.close();
  origin.server.closeAllConnections();
  for (const path of ["/api/x", "/"]) {
    const response = await send(edge, path);
    assert.equal(response.status, 502);
    assert.deepEqual(response.json, { error: "origin_unreachable", scope: "edge" });
    assert.equal(response.headers["cache-control"], "no-store");
  }
  origin.server.listen(Number(origin.address.split(":")[1]), "127.0.0.1");
  await once(origin.server, "listening");
  assert.equal((await send(edge, "/api/x")).status, 200);
});

test("an origin that hangs up is a 502, asked once", async (t) => {
  const origin = await startOrigin(t, (request) => request.socket.destroy());
  const edge = await startEdge(t, origin.address);
  assert.equal((await send(edge, "/api/x", { method: "POST", body: "pay" })).status, 502);
  assert.equal(origin.seen.length, 1);
});

test("a verdict holds while the origin is gone", async (t) => {
  const origin = await startOrigin(t, deny("30"));
  const edge = await startEdge(t, origin.address);
  await send(edge, "/api/x");
  origin.server.close();
  origin.server.closeAllConnections();
  assert.equal((await send(edge, "/api/x")).status, 429);
  assert.equal((await send(edge, "/api/y")).status, 502);
});

/** The worker in workerd, an HTTP origin on loopback, and a client that sends paths as they are written. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";
import ts from "typescript";

export const SECRET = "0123456789abcdef0123456789abcdef";
export const HOST = "api.example.com";

const source = (name) => new URL(`../src/${name}.ts`, import.meta.url).pathname;

function bundle(name) {
  const built = buildSync({ entryPoints: [source(name)], bundle: true, format: "esm", write: false });
  return built.outputFiles[0].text;
}

/** A module of src/, to call its functions. */
export const load = (name) => import(`data:text/javascript,${encodeURIComponent(bundle(name))}`);

/** What is deployed: the tests run under these settings. */
export const wrangler = (() => {
  const path = new URL("../wrangler.jsonc", import.meta.url).pathname;
  const { config, error } = ts.parseConfigFileTextToJson(path, readFileSync(path, "utf8"));
  if (error) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, "\n"));
  return config;
})();

/**
 * The worker in front of `origin` ("host:port"), as Cloudflare runs it: the client's CF-Connecting-IP
 * reaches the origin, and the path reaches the worker unchanged (which Miniflare's own entry would not do).
 */
export async function startEdge(t, origin, { secret = SECRET, limit, ratelimits } = {}) {
  const [binding] = wrangler.ratelimits;
  const simple = { ...binding.simple, ...(limit && { limit }) };
  const miniflare = new Miniflare({
    modules: true,
    script: bundle("worker"),
    compatibilityDate: wrangler.compatibility_date,
    bindings: secret === null ? {} : { EDGE_SECRET: secret },
    ratelimits: ratelimits ?? { [binding.name]: { simple } },
    outboundService: { external: { address: origin, http: {} } },
    stripCfConnectingIp: false,
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    handleRuntimeStdio: (stdout, stderr) => [stdout, stderr].forEach((stream) => stream.resume()),
  });
  t.after(() => miniflare.dispose());
  await miniflare.ready;
  const { hostname, port } = await miniflare.unsafeGetDirectURL();
  return { hostname, port, caches: await miniflare.getCaches() };
}

/** An origin that keeps what it was asked in `seen` and answers with `respond(request, response)`. */
export async function startOrigin(t, respond = (_, response) => response.end("fine")) {
  const seen = [];
  const server = http.createServer((request, response) => {
    seen.push({ method: request.method, url: request.url, headers: request.headers });
    respond(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, seen, address: `127.0.0.1:${server.address().port}` };
}

export const hmac = (message, secret = SECRET) => createHmac("sha256", secret).update(message).digest("hex");

/** The mark on a verdict that was keyed by the client's address, as docs/cloudflare.md defines it. */
export const mark = (request, secret = SECRET) => hmac(`verdict|${request.headers["ratelimit-edge"]}`, secret);

/** Answers 429 with a marked verdict. */
export const deny = (retryAfter) => (request, response) => {
  response.writeHead(429, { "Retry-After": retryAfter, "RateLimit-Edge": mark(request) });
  response.end("the origin's own words");
};

const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });

/** A request from the client `ip`; `path` goes out as it is written. */
export async function send(edge, path, { ip = "192.0.2.1", method = "GET", headers = {}, body } = {}) {
  const request = http.request({
    agent,
    host: edge.hostname,
    port: edge.port,
    path,
    method,
    headers: { Host: HOST, ...(ip !== null && { "CF-Connecting-IP": ip }), ...headers },
  });
  request.end(body);
  const [response] = await once(request, "response");
  const chunks = await response.toArray();
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.concat(chunks),
    get json() {
      return JSON.parse(this.body);
    },
  };
}

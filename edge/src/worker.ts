/**
 * The coarse limit at the edge, and the origin's exact one held there.
 *
 *     client -> coarse limit -> remembered verdict -> origin -> remember its verdict -> client
 *
 * A request outside /api/ goes straight to the origin. The README beside this folder has the
 * table of cases; docs/cloudflare.md what the origin does.
 */
import { clientOf } from "./client";
import { Memory } from "./memory";
import { retryInstant, secondsUntil } from "./retry_after";
import { routeOf } from "./route";
import { Secret } from "./secret";

export interface Env {
  /** The coarse limit, in wrangler.jsonc. */
  EDGE_LIMIT: RateLimit;
  /** Shared with the origin, at least 32 characters; without it verdicts are not remembered. */
  EDGE_SECRET?: string;
}

/** To the origin the proof that a request came through here; from it the mark on a verdict. */
const HEADER = "RateLimit-Edge";

/** Period of EDGE_LIMIT, which tells no more than yes or no: when it denies, the longest wait. */
const PERIOD_SECONDS = 60;

/** Stands for all requests without an address: they share one budget, so leaving it out gains nothing. */
const NO_ADDRESS = "no address";

export default {
  async fetch(request, env): Promise<Response> {
    const url = new URL(request.url);
    const address = request.headers.get("CF-Connecting-IP") ?? "";
    const secret = await Secret.from(env.EDGE_SECRET);
    const proof = (await secret?.signRequest(address, Date.now())) ?? null;

    const ask = () => askOrigin(request, url, address, proof);

    const route = routeOf(url.pathname);
    if (!route.startsWith("/api/")) return unmarked(await ask());

    const client = clientOf(address);
    if (!(await admits(env, client ?? NO_ADDRESS))) return denied("edge", PERIOD_SECONDS);
    if (secret === null || proof === null || client === null) return unmarked(await ask());

    const memory = new Memory(url.host, await secret.nameOf(client, request.method, url.host, route));
    const asked = Date.now();
    const heldUntil = await memory.recall(asked);
    if (heldUntil !== null) return denied("origin", secondsUntil(heldUntil, asked));

    const response = await ask();
    if (response.status === 429 && (await secret.isVerdict(response.headers.get(HEADER), proof))) {
      const answered = Date.now();
      const until = retryInstant(response.headers.get("Retry-After"), answered);
      if (until !== null) await memory.remember(until, answered);
    }
    return unmarked(response);
  },
} satisfies ExportedHandler<Env>;

/** A binding that fails admits: the exact limit is behind it. */
async function admits(env: Env, key: string): Promise<boolean> {
  try {
    return (await env.EDGE_LIMIT.limit({ key })).success;
  } catch (error) {
    console.error("EDGE_LIMIT did not answer:", error);
    return true;
  }
}

/**
 * Passes the request on as it is, `url` as the URL standard writes it: the origin is sent no dot
 * segment that it could resolve in another order than it was resolved here.
 */
async function askOrigin(request: Request, url: URL, address: string, proof: string | null): Promise<Response> {
  const forwarded = new Request(url, request);
  put(forwarded.headers, HEADER, proof);
  // Cloudflare makes the origin's CF-Connecting-IP from this one: the client must not have written it.
  put(forwarded.headers, "X-Real-IP", address || null);
  try {
    return await fetch(forwarded);
  } catch (error) {
    console.error("origin not reached:", error);
    return answer(502, { error: "origin_unreachable", scope: "edge" });
  }
}

/** Replaces what the client sent under `name`; `null` leaves the header out. */
function put(headers: Headers, name: string, value: string | null): void {
  if (value === null) headers.delete(name);
  else headers.set(name, value);
}

/** The origin's response without the mark; one that has none is not touched. */
function unmarked(response: Response): Response {
  if (!response.headers.has(HEADER)) return response;
  const copy = new Response(response.body, response);
  copy.headers.delete(HEADER);
  return copy;
}

/** `scope` is whose limit it is: the edge's own, or the origin's that is held here. */
function denied(scope: "edge" | "origin", retryAfter: number): Response {
  return answer(429, { error: "rate_limited", scope }, { "Retry-After": String(retryAfter) });
}

/** Readable by a page of any origin: it says nothing that its reader has not caused. */
function answer(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, {
    status,
    headers: {
      "Cache-Control": "no-store",
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Expose-Headers": "Retry-After",
      ...headers,
    },
  });
}

import { secondsUntil } from "./retry_after";

/** Longest time a verdict is held without asking the origin again, in seconds. */
const LONGEST = 60;

/**
 * Verdicts of the origin, by name, in the Cache API of this Cloudflare location: shared by its many
 * isolates, where a map in one isolate would let each of them ask the origin anew, and bounded
 * and expired by Cloudflare. A named cache, so that no response of the site can be found in it. The
 * key's host is the request's own, as Cloudflare advises.
 *
 * A cache that fails has forgotten: the origin, which decides anyway, is asked.
 */
export class Memory {
  private readonly key: string;

  constructor(host: string, name: string) {
    this.key = `https://${host}/${name}`;
  }

  /** The instant until which the verdict denies, `null` where none is remembered at `now` (ms). */
  async recall(now: number): Promise<number | null> {
    try {
      const stored = await (await verdicts()).match(this.key);
      const until = Number(await stored?.text());
      return until > now ? until : null;
    } catch (error) {
      console.error("verdict not recalled:", error);
      return null;
    }
  }

  async remember(until: number, now: number): Promise<void> {
    const age = Math.min(secondsUntil(until, now), LONGEST);
    const stored = new Response(String(until), { headers: { "Cache-Control": `max-age=${age}` } });
    try {
      await (await verdicts()).put(this.key, stored);
    } catch (error) {
      console.error("verdict not remembered:", error);
    }
  }
}

const verdicts = () => caches.open("rate-limit-verdicts");

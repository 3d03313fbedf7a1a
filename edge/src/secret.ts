/** Shortest EDGE_SECRET that is used, in characters: 128 bits written in hexadecimal. */
const SHORTEST = 32;

const bytes = (text: string) => new TextEncoder().encode(text);

/**
 * What the worker and the origin alone know. It never travels: each side sends an HMAC-SHA256
 * (64 lower-case hex digits) of a message whose first word says what it is for, so that no
 * signature of one kind passes for another.
 */
export class Secret {
  private constructor(private readonly key: CryptoKey) {}

  /** `null` without a usable secret: then the edge limits by itself and believes no verdict. */
  static async from(text: string | undefined): Promise<Secret | null> {
    if (!text) return null;
    if (text.length < SHORTEST) {
      console.error(`EDGE_SECRET has ${text.length} characters and needs ${SHORTEST}: not used`);
      return null;
    }
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    return new Secret(await crypto.subtle.importKey("raw", bytes(text), algorithm, false, ["sign"]));
  }

  /** The proof to the origin that a request of `address` came through here at `now` (ms). */
  async signRequest(address: string, now: number): Promise<string> {
    const seconds = Math.floor(now / 1000);
    return `${seconds}:${await this.hmac(`request|${seconds}|${address}`)}`;
  }

  /** Whether `mark` is the origin's word that its answer to the request with `proof` was keyed by address. */
  async isVerdict(mark: string | null, proof: string): Promise<boolean> {
    if (mark === null) return false;
    const given = bytes(mark);
    const right = bytes(await this.hmac(`verdict|${proof}`));
    return given.length === right.length && crypto.subtle.timingSafeEqual(given, right);
  }

  /** A name for what `parts` say that nobody else can compute or read. */
  async nameOf(...parts: string[]): Promise<string> {
    return this.hmac(`name|${JSON.stringify(parts)}`);
  }

  private async hmac(message: string): Promise<string> {
    const signature = await crypto.subtle.sign("HMAC", this.key, bytes(message));
    return [...new Uint8Array(signature)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

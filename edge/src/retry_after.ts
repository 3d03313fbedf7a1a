/** The one form of an HTTP date that may still be sent (IMF-fixdate, RFC 9110 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The instant that a `Retry-After` names, or `null` where it is missing, malformed or not in the
 * future. Instants are milliseconds since 1970. Whole seconds count from `now`.
 */
export function retryInstant(value: string | null, now: number): number | null {
  let instant = NaN;
  if (value !== null && /^\d{1,10}$/.test(value)) instant = now + Number(value) * 1000;
  else if (value !== null && HTTP_DATE.test(value)) instant = Date.parse(value);
  return instant > now ? instant : null;
}

/** Whole seconds from `now` to a later `instant`, rounded up as Retry-After is. */
export function secondsUntil(instant: number, now: number): number {
  return Math.ceil((instant - now) / 1000);
}

/**
 * The path of `pathname` (as `URL` has it: no query, dot segments and backslashes resolved) in
 * one spelling: escapes decoded once, runs of slashes as one, and the dot segments and
 * backslashes that only decoding brings to light resolved too. This is how nginx reads it before
 * it chooses a location.
 *
 *     //%61pi/v1%2Ftrending/x/%2e%2e%2f  ->  /api/v1/trending/
 *
 * An escape that is none (`%zz`) stays as it is. Letter case and a trailing slash are kept: to an
 * origin they may be different routes. Decoded bytes stand as the code points 0 to 255, so no
 * sequence is invalid and no two paths fall together.
 */
export function routeOf(pathname: string): string {
  const decoded = pathname.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  const segments = decoded.split(/[/\\]+/).slice(1);
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  const last = segments.at(-1);
  if (last === "." || last === "..") kept.push("");
  return "/" + kept.join("/");
}

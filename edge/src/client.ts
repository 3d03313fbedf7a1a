const BYTE = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = new RegExp(`^${BYTE}(\\.${BYTE}){3}$`);

/**
 * Who a client is: its IPv4 address, or the /64 of its IPv6 address, since one subscriber is given
 * a whole /64 and could otherwise be 2^64 clients. Any spelling of one address gives one text, and
 * an IPv4-mapped address is its IPv4 address. `null` for what is not an address.
 */
export function clientOf(address: string): string | null {
  if (IPV4.test(address)) return address;
  const groups = ipv6Groups(address);
  if (groups === null) return null;
  const [high = 0, low = 0] = groups.slice(6);
  return groups.slice(0, 6).join() === "0,0,0,0,0,65535"
    ? [high >> 8, high & 255, low >> 8, low & 255].join(".")
    : groups.slice(0, 4).map((group) => group.toString(16)).join(":") + "::/64";
}

/** The eight groups of an IPv6 address in any spelling of RFC 4291 (2.2). */
function ipv6Groups(address: string): number[] | null {
  const url = `http://[${address}]`;
  if (!/^[0-9a-f:.]+$/i.test(address) || !URL.canParse(url)) return null;
  // URL has checked it, and writes it in hexadecimal with the longest run of zeros as "::".
  const [head = [], tail = []] = new URL(url).hostname
    .slice(1, -1)
    .split("::")
    .map((half) => half.split(":").filter(Boolean));
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...tail].map((group) => parseInt(group, 16));
}

/** nginx, php-fpm and Redis in a private folder, with the configuration of php/demo and the library in php/. */
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = new URL("../../", import.meta.url).pathname;

/**
 * An origin that answers everything with the PHP script `script` and loads the extension from the file `module`.
 * In the script and the configuration, @SECRET@ stands for `secret`, and @DIR@ and so on as php/demo says.
 */
export async function startStack(t, { module, script, secret }) {
  const isRoot = userInfo().uid === 0;
  const user = isRoot ? "nobody" : userInfo().username; // as which nginx's worker runs too
  const dir = mkdtempSync(join(tmpdir(), "edge-stack-"));
  const children = [];
  t.after(async () => {
    for (const child of children.reverse()) await end(child);
    rmSync(dir, { recursive: true });
  });

  const port = await freePort();
  const redis = join(dir, "redis.sock");
  furnish(dir, script, {
    DIR: dir,
    PORT: port,
    USER: user,
    GROUP: execFileSync("id", ["-gn", user], { encoding: "utf8" }).trim(),
    STORE: `redis+unix://${redis}`,
    SECRET: secret,
  });

  const logs = () =>
    readdirSync(dir)
      .filter((name) => name.endsWith(".log") && name !== "access.log")
      .map((name) => `${name}:\n${readFileSync(join(dir, name), "utf8")}`)
      .join("\n");
  const start = async (address, command, options) => {
    const output = openSync(join(dir, "output.log"), "a");
    const child = spawn(command, options, { env, stdio: ["ignore", output, output] });
    child.on("error", (error) => writeFileSync(output, String(error)));
    children.push(child);
    if (!(await listens(address))) throw new Error(`${command} did not start\n${logs()}`);
  };
  const env = { ...process.env, RL_DAILY_SALT: randomBytes(32).toString("hex") };
  const redisOptions = ["--port", "0", "--unixsocket", redis, "--unixsocketperm", "777", "--save", "", "--dir", dir];
  await start({ path: redis }, "redis-server", redisOptions);
  const fpmOptions = ["-n", "-y", join(dir, "php-fpm.conf"), "-d", `extension=${module}`];
  if (isRoot) fpmOptions.push("--allow-to-run-as-root");
  await start({ path: join(dir, "php-fpm.sock") }, process.env.PHP_FPM ?? "php-fpm8.4", fpmOptions);
  await start({ port }, "nginx", ["-e", join(dir, "nginx.log"), "-p", dir, "-c", join(dir, "nginx.conf")]);
  return { address: `127.0.0.1:${port}`, logs };
}

/** Puts into `dir` what the servers read, with `values` for the names between two @. */
function furnish(dir, script, values) {
  const fill = (file, name) =>
    writeFileSync(join(dir, name), readFileSync(file, "utf8").replace(/@([A-Z]+)@/g, (_, key) => values[key]));
  chmodSync(dir, 0o711); // workers of another user enter it
  mkdirSync(join(dir, "tmp"));
  chmodSync(join(dir, "tmp"), 0o777);
  for (const name of ["nginx.conf", "php-fpm.conf"]) fill(`${root}php/demo/${name}`, name);
  fill(script, "index.php");
  for (const name of ["autoload.php", "src"]) cpSync(`${root}php/${name}`, join(dir, name), { recursive: true });
}

async function end(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, "exit");
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Whether something listens on `address` within ten seconds. */
async function listens(address) {
  for (let tries = 0; tries < 100; tries++) {
    const connection = net.connect({ host: "127.0.0.1", ...address });
    try {
      await once(connection, "connect");
      return true;
    } catch {
      await sleep(100);
    } finally {
      connection.destroy();
    }
  }
  return false;
}

//! What `rate-limit doctor` says of real servers, healthy and not.

mod support;

use std::process::{Command, Output};

use support::server::Server;

struct Verdict {
    code: i32,
    text: String,
}

impl Verdict {
    fn of(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rate-limit"));
        command.arg("doctor").args(arguments).env_remove("RATE_LIMIT_DSN");
        Self::from(command.output().unwrap())
    }

    /// With a deadline that a busy machine keeps.
    fn at(dsn: &str) -> Self {
        Self::of(&[dsn, "--timeout", "5"])
    }

    fn from(output: Output) -> Self {
        let text = [output.stdout, output.stderr].concat();
        Self { code: output.status.code().unwrap(), text: String::from_utf8(text).unwrap() }
    }

    /// The one line about `check`.
    fn line(&self, check: &str) -> &str {
        let mut lines =
            self.text.lines().filter(|line| line.split_whitespace().nth(1) == Some(check));
        let line = lines.next().unwrap_or_else(|| panic!("no line about {check}: {}", self.text));
        assert_eq!(lines.next(), None);
        line
    }

    fn says(&self, code: i32, check: &str, level: &str, text: &str) {
        let line = self.line(check);
        assert!(line.starts_with(level) && line.contains(text), "{}", self.text);
        assert_eq!(self.code, code, "{}", self.text);
    }
}

fn dsn(server: &Server) -> String {
    format!("redis+unix://{}", server.socket())
}

#[test]
fn a_healthy_server_gets_only_good_words_and_keeps_no_key() {
    let server = Server::redis();
    for layout in ["sorted-set", "list"] {
        let verdict = Verdict::of(&[&dsn(&server), "--timeout", "5", "--log-layout", layout]);
        assert_eq!(verdict.code, 0);
        assert!(verdict.text.lines().all(|line| line.starts_with("ok ")), "{}", verdict.text);
        for check in ["reachable", "server", "role", "eviction", "keys", "permissions", "latency"] {
            verdict.line(check);
        }
    }
    assert_eq!(server.admin().keys(), [""; 0]);
}

#[test]
fn a_dsn_comes_from_the_environment_or_standard_input_where_ps_does_not_show_it() {
    let server = Server::redis();
    let run = |command: &mut Command| Verdict::from(command.output().unwrap());
    let tool = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rate-limit"));
        command.args(["doctor", "--timeout", "5"]);
        command
    };
    run(tool().env("RATE_LIMIT_DSN", dsn(&server))).says(0, "reachable", "ok", "answers");
    let file = std::env::temp_dir().join(format!("rate-limit-dsn-{}", std::process::id()));
    std::fs::write(&file, dsn(&server) + "\n").unwrap();
    run(tool().arg("-").stdin(std::fs::File::open(&file).unwrap())).says(
        0,
        "reachable",
        "ok",
        "answers",
    );
    std::fs::remove_file(&file).unwrap();
    assert_eq!(Verdict::of(&[]).code, 2);
}

#[test]
fn nobody_there_and_a_server_that_hangs_are_told_apart() {
    Verdict::at("redis://127.0.0.1:1").says(1, "reachable", "FAIL", "refused");
    let server = Server::redis();
    server.pause();
    Verdict::of(&[&dsn(&server)]).says(1, "reachable", "FAIL", "no answer within");
    server.resume();
}

#[test]
fn no_credential_is_ever_printed() {
    let server = Server::redis();
    let admin = server.admin();
    admin.say("ACL SETUSER limiter on >s3cret ~rl:* +ping");
    let at = |credentials: &str| format!("redis+unix://{credentials}@{}", server.socket());
    let verdicts = [
        Verdict::at(&at("limiter:s3cret")),
        Verdict::at(&at("limiter:s3cret-but-wrong")),
        Verdict::at("redis://limiter:s3cret@127.0.0.1:1"),
        Verdict::at("redis://limiter:s3cret@h:port"),
        Verdict::at("redis://s3cret@h"),
        Verdict::at("http://limiter:s3cret@h"),
    ];
    for verdict in &verdicts {
        assert!(verdict.code > 0 && !verdict.text.contains("s3cret"), "{}", verdict.text);
    }
    verdicts[1].says(1, "reachable", "FAIL", "WRONGPASS");
    admin.say("CONFIG SET requirepass s3cret");
    Verdict::at(&dsn(&server)).says(1, "reachable", "FAIL", "NOAUTH");
}

#[test]
fn missing_rights_are_named_and_just_the_rights_that_are_used_are_enough() {
    let server = Server::redis();
    let admin = server.admin();
    let dsn = format!("redis+unix://limiter:s3cret@{}", server.socket());
    // As the remedy says.
    admin.say(
        "ACL SETUSER limiter on >s3cret ~rl:* +evalsha +script|load +time +del +pexpire +pttl +get \
         +incrby +zcard +zcount +zrange +zadd +zremrangebyscore",
    );
    let enough = Verdict::at(&dsn);
    enough.says(0, "permissions", "ok", "allowed");
    enough.says(0, "decision", "ok", "");
    enough.says(0, "server", "warn", "cannot be checked");
    enough.says(0, "keys", "warn", "cannot be checked");
    admin.say("ACL SETUSER limiter -zremrangebyscore -pttl");
    Verdict::at(&dsn).says(1, "permissions", "FAIL", "may not use: PTTL, ZREMRANGEBYSCORE");
    admin.say("ACL SETUSER limiter +pttl -time");
    Verdict::at(&dsn).says(1, "clock", "warn", "refuses TIME");
    admin.say("ACL SETUSER limiter resetkeys ~other:*");
    Verdict::at(&dsn).says(1, "permissions", "FAIL", "may not use: DEL");
    let prefixed = Verdict::at(&format!("{dsn}?prefix=other:"));
    prefixed.says(1, "permissions", "FAIL", "may not use: ZREMRANGEBYSCORE");
    assert_eq!(admin.keys(), [""; 0]);
}

#[test]
fn eviction_and_keys_that_live_for_ever_are_warned_of() {
    let server = Server::redis();
    let admin = server.admin();
    admin.say("CONFIG SET maxmemory 100mb");
    Verdict::at(&dsn(&server)).says(0, "eviction", "ok", "noeviction");
    admin.say("CONFIG SET maxmemory-policy allkeys-lru");
    Verdict::at(&dsn(&server)).says(0, "eviction", "warn", "allkeys-lru");
    admin.say("SET rl:cnt:one:1 1");
    admin.say("SET rl:cnt:two:1 1 EX 100");
    admin.say("SET other 1");
    Verdict::at(&dsn(&server)).says(0, "keys", "warn", "2 of the limiters, 1 without");
    let prefixed = Verdict::at(&format!("{}?prefix=p*", dsn(&server)));
    prefixed.says(0, "keys", "ok", "0 of the limiters");
}

#[test]
fn a_replica_and_a_node_of_a_cluster_fail() {
    let master = Server::redis();
    let port = master.port.to_string();
    let replica = Server::with(&["--replicaof", "127.0.0.1", &port]);
    Verdict::at(&dsn(&replica)).says(1, "role", "FAIL", "read-only replica of 127.0.0.1");
    let node = Server::with(&["--cluster-enabled", "yes"]);
    Verdict::at(&dsn(&node)).says(1, "cluster", "FAIL", "a node of a Cluster");
    let cluster = format!("redis-cluster://127.0.0.1:{}", node.port);
    Verdict::at(&cluster).says(1, "cluster", "FAIL", "state fail, 0 of 16384");
    node.admin().say("CLUSTER ADDSLOTSRANGE 0 16383");
    for _ in 0..100 {
        if node.admin().say("CLUSTER INFO").contains("cluster_state:ok") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let whole = Verdict::at(&cluster);
    whole.says(0, "cluster", "ok", "16384 of 16384");
    whole.says(0, "permissions", "ok", "");
    whole.says(0, "decision", "ok", "");
    node.admin().say("CLUSTER DELSLOTS 5");
    Verdict::at(&cluster).says(1, "cluster", "FAIL", "16383 of 16384");
}

#[test]
fn a_clock_that_is_far_off_is_warned_of() {
    let server = Server::redis();
    let mut command = Command::new("faketime");
    command.args(["-f", "-90s", env!("CARGO_BIN_EXE_rate-limit"), "doctor", &dsn(&server)]);
    let output = command.args(["--timeout", "5"]).output().unwrap();
    Verdict::from(output).says(0, "clock", "warn", "+90.0");
}

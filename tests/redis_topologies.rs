//! Redis as a Cluster and behind Sentinel: moves and failovers while calls are made.
#![cfg(feature = "redis")]

mod support;

use std::process::{Command, Stdio};
use std::time::Duration;

use rate_limit::clock;
use rate_limit::core::identity::Key;
use rate_limit::core::limit::Algorithm;
use rate_limit::core::time::{DAY, Micros, SECOND};
use rate_limit::store::Store;
use rate_limit::store::redis::{ClockMode, Dsn, Layout, Naming, Options, RedisStore, connection};
use support::midnight;
use support::redis::{Redis, Stamped, call};
use support::server::Server;

const BOTH: [Algorithm; 2] = [Algorithm::Log, Algorithm::Counter];

/// Three masters with a replica each.
struct Cluster(Vec<Server>);

impl Cluster {
    fn start() -> Self {
        let arguments = [
            ["--cluster-enabled", "yes"],
            ["--cluster-node-timeout", "1500"],
            ["--cluster-require-full-coverage", "no"],
        ]
        .concat();
        let servers: Vec<_> = (0..6).map(|_| Server::with(&arguments)).collect();
        let addresses = servers.iter().map(|server| format!("127.0.0.1:{}", server.port));
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .stdout(Stdio::null())
            .status();
        assert!(created.unwrap().success());
        let cluster = Self(servers);
        let settled = |server: &Server| {
            !server.admin().say("INFO replication").contains("master_link_status:down")
                && server.admin().say("CLUSTER INFO").contains("cluster_state:ok")
                && cluster.0[0].admin().say("CLUSTER NODES").matches("slave").count() == 3
        };
        until(20, "the cluster is up", || cluster.0.iter().all(settled));
        cluster
    }

    fn store(&self, timeout: Micros) -> Redis {
        let seeds: Vec<_> = self.0.iter().map(|s| format!("127.0.0.1:{}", s.port)).collect();
        let dsn = Dsn::parse(&format!("redis-cluster://{}", seeds.join(","))).unwrap();
        let naming = Naming { prefix: Vec::new(), cluster: true, layout: Layout::SortedSet };
        RedisStore::new(connection(&dsn.endpoint, Options { timeout }), naming, ClockMode::Server)
    }

    /// The server that has `key`'s slot, and the slot.
    fn owner(&self, key: &str) -> (&Server, i64) {
        let slot = self.0[0].admin().number(&format!("CLUSTER KEYSLOT {key}")); // of "" it is 0
        let nodes = self.0[0].admin().say("CLUSTER NODES");
        let owns = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            matches!((first.parse::<i64>(), last.parse::<i64>()), (Ok(a), Ok(b)) if a <= slot && slot <= b)
        };
        let line = nodes.lines().find(|line| line.split(' ').skip(8).any(owns)).unwrap();
        let port = line.split(['@', ' ']).nth(1).unwrap().rsplit(':').next().unwrap();
        (self.0.iter().find(|server| server.port.to_string() == port).unwrap(), slot)
    }

    fn other_master(&self, than: &Server) -> &Server {
        let is = |server: &&Server| {
            server.port != than.port
                && server.admin().say("INFO replication").contains("role:master")
        };
        self.0.iter().find(is).unwrap()
    }

    /// Begins to move a slot.
    fn open(&self, slot: i64, from: &Server, to: &Server) {
        to.admin().say(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(from)));
        from.admin().say(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(to)));
    }

    /// Ends the move.
    fn close(&self, slot: i64, from: &Server, to: &Server) {
        for server in [to, from] {
            let answer = server.admin().say(&format!("CLUSTER SETSLOT {slot} NODE {}", id(to)));
            assert_eq!(answer, "+OK\r\n");
        }
    }
}

fn id(server: &Server) -> String {
    server.admin().say("CLUSTER MYID").lines().nth(1).unwrap().to_owned()
}

fn until(seconds: u64, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = clock::steady() + seconds * SECOND;
    while !holds() {
        assert!(clock::steady() < deadline, "{what} within {seconds} s");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs a cluster of six servers"]
fn a_cluster_limits_whatever_the_identity_is() {
    let cluster = Cluster::start();
    let mut store = cluster.store(2 * SECOND);
    let mut identities: Vec<Vec<u8>> =
        (0..60).map(|n| format!("client {n}").into_bytes()).collect();
    identities
        .extend([&b"abc"[..], b"", b"}x", b"a{b}c", b"{}", b"\0\xff", &[b'x'; 600]].map(Vec::from));
    for identity in &identities {
        for algorithm in BOTH {
            let call = call(algorithm, identity, 3, 3_600, 1);
            let admitted = (0..5).filter(|_| store.attempt(&call).unwrap().allowed).count();
            assert_eq!(admitted, 3, "{algorithm:?} {identity:?}");
            store.reset(&call).unwrap();
            assert_eq!(store.peek(&call).unwrap().remaining, 3);
        }
    }
}

#[test]
#[ignore = "needs a cluster of six servers"]
fn a_cluster_knows_a_client_over_midnight_and_keeps_the_days_keys() {
    let cluster = Cluster::start();
    let mut store = Stamped::new(cluster.store(2 * SECOND));
    midnight::decides_as_one_unbroken_identity(&mut store, 60, 20_000);

    let (day, now) = (20_000, 20_000 * DAY);
    let key = store.store.salt(day, &Key::new([1; 32]), now).unwrap();
    assert_eq!(*key, [1; 32]);
    assert_eq!(cluster.store(2 * SECOND).salt(day, &Key::new([2; 32]), now).unwrap(), key);
}

/// While the slot is open at both ends the log's key goes over (`ASK`), then the slot (`MOVED`).
/// The new server has never seen the scripts.
#[test]
#[ignore = "needs a cluster of six servers"]
fn a_slot_that_moves_loses_and_repeats_nothing() {
    let cluster = Cluster::start();
    let mut store = cluster.store(2 * SECOND);
    let call = call(Algorithm::Log, b"mover", 1_000, 3_600, 1);
    let hit = |store: &mut Redis, n: u32| {
        assert_eq!(store.attempt(&call).unwrap().remaining, 1_000 - n);
    };
    hit(&mut store, 1);
    let (from, slot) = cluster.owner("rl:log:mover");
    let to = cluster.other_master(from);
    cluster.open(slot, from, to);
    hit(&mut store, 2);
    from.admin().say(&format!("MIGRATE 127.0.0.1 {} rl:log:mover 0 1000", to.port));
    hit(&mut store, 3);
    hit(&mut store, 4);
    cluster.close(slot, from, to);
    hit(&mut store, 5);
    hit(&mut store, 6);
    assert_eq!(to.admin().number("ZCARD rl:log:mover"), 6);
}

/// A counter's keys are at both ends for as long as the slot moves (`TRYAGAIN`).
#[test]
#[ignore = "needs a cluster of six servers"]
fn a_counter_waits_for_its_slot() {
    let cluster = Cluster::start();
    let mut store = cluster.store(5 * SECOND);
    let call = call(Algorithm::Counter, b"mover", 1_000, 3_600, 1);
    assert_eq!(store.attempt(&call).unwrap().remaining, 999);
    let key = cluster.0.iter().find_map(|server| server.admin().keys().pop()).unwrap();
    let (from, slot) = cluster.owner(&key);
    let to = cluster.other_master(from);
    cluster.open(slot, from, to);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            from.admin().say(&format!("MIGRATE 127.0.0.1 {} {key} 0 1000", to.port));
            std::thread::sleep(Duration::from_millis(100));
            cluster.close(slot, from, to);
        });
        let before = clock::steady();
        assert_eq!(store.attempt(&call).unwrap().remaining, 998);
        assert!(clock::steady() - before >= 200_000, "it was answered before the slot had moved");
    });
    assert_eq!(to.admin().say(&format!("GET {key}")), "$1\r\n2\r\n");
}

#[test]
#[ignore = "needs a cluster of six servers"]
fn one_masters_end_is_bounded_in_time_and_in_whom_it_concerns() {
    let mut cluster = Cluster::start();
    let timeout = SECOND / 4;
    let mut store = cluster.store(timeout);
    let [hit, other] = {
        // The server that a command without a key would go to if it went by slot.
        let lost = cluster.owner("").0.port;
        let concerned = |n: &u32| cluster.owner(&format!("rl:log:{n}")).0.port == lost;
        let unconcerned = |n: &u32| !concerned(n);
        let first = |is: &dyn Fn(&u32) -> bool| (0..).find(is).unwrap().to_string();
        let identities = [first(&concerned), first(&unconcerned)];
        cluster.0.iter_mut().find(|server| server.port == lost).unwrap().kill();
        identities
    };
    let call = |identity| call(Algorithm::Log, identity, 100_000, 3_600, 1);
    until(20, "the failover", || {
        assert!(store.attempt(&call(other.as_bytes())).is_ok());
        let before = clock::steady();
        let answer = store.attempt(&call(hit.as_bytes()));
        let took = clock::steady() - before;
        assert!(took < timeout + timeout / 10 + 100_000, "{took} us: {answer:?}");
        answer.is_ok()
    });
}

#[test]
#[ignore = "needs a master, a replica and a sentinel"]
fn sentinel_leads_to_the_master_before_and_after_a_failover() {
    let mut master = Server::redis();
    let replica = Server::with(&["--replicaof", &format!("127.0.0.1 {}", master.port)]);
    let sentinel = Server::sentinel(&master);
    let dsn = |name: &str| {
        Dsn::parse(&format!("redis-sentinel://127.0.0.1:1,127.0.0.1:{}/{name}", sentinel.port))
            .unwrap()
    };
    let over = |dsn: &Dsn| {
        let transport = connection(&dsn.endpoint, Options { timeout: SECOND / 2 });
        RedisStore::new(transport, Naming::default(), ClockMode::Server)
    };
    let call = call(Algorithm::Log, b"a", 1_000, 3_600, 1);
    let unknown = over(&dsn("nobody")).attempt(&call).unwrap_err().to_string();
    assert!(unknown.contains("knows no master of that name"), "{unknown}");

    let mut store = over(&dsn("main"));
    until(20, "the replica is up and known", || {
        replica.admin().say("INFO replication").contains("master_link_status:up")
            && sentinel.admin().say("SENTINEL MASTER main").contains("num-slaves\r\n$1\r\n1")
    });
    assert_eq!(store.attempt(&call).unwrap().remaining, 999);
    assert_eq!(master.admin().number("ZCARD rl:log:a"), 1);
    until(5, "the replica has it", || replica.admin().number("ZCARD rl:log:a") == 1);
    master.kill();
    let mut verdict = None;
    until(20, "the failover", || {
        verdict = store.attempt(&call).ok();
        verdict.is_some()
    });
    assert_eq!(verdict.unwrap().remaining, 998);
    assert_eq!(replica.admin().number("ZCARD rl:log:a"), 2);
}

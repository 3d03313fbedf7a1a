//! Stores on real servers.

use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::core::verdict::Verdict;
use rate_limit::store::redis::{
    ClockMode, Dsn, Layout, Naming, Options, RedisStore, SharedConnection, connection,
};
use rate_limit::store::{Call, StoreError};

use super::conformance::Timed;
use super::server::{PROGRAMS, Server};

pub type Redis = RedisStore<SharedConnection>;

/// Generous: the tests share the machine with others.
pub const TIMEOUT: Micros = 5 * SECOND;

pub fn store(dsn: &Dsn, layout: Layout) -> Redis {
    let naming = Naming { prefix: dsn.prefix.clone(), cluster: false, layout };
    RedisStore::new(
        connection(&dsn.endpoint, Options { timeout: TIMEOUT }),
        naming,
        ClockMode::Server,
    )
}

pub fn call(
    algorithm: Algorithm,
    identity: &[u8],
    limit: i64,
    seconds: i64,
    cost: i64,
) -> Call<'_> {
    Call {
        algorithm,
        identity,
        earlier: &[],
        limit: Limit::new(limit, seconds).unwrap(),
        cost: Cost::new(cost, algorithm).unwrap(),
    }
}

/// Stamps calls as the shared tests say.
pub struct Stamped {
    pub store: Redis,
    now: Micros,
}

impl Stamped {
    pub fn new(store: Redis) -> Self {
        Self { store, now: 0 }
    }
}

impl Timed for Stamped {
    fn attempt_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        self.now = now;
        self.store.attempt_at(call, now)
    }

    fn peek_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError> {
        self.now = now;
        self.store.peek_at(call, now)
    }

    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError> {
        self.store.reset_at(call, self.now)
    }
}

/// Each server program, each layout, over a unix socket.
pub fn everywhere(mut test: impl FnMut(&mut Stamped, &Server)) {
    for program in PROGRAMS {
        let server = Server::start(program, &[]);
        for layout in [Layout::SortedSet, Layout::List] {
            let mut store = Stamped::new(store(&server.unix(), layout));
            server.admin().say("FLUSHALL");
            test(&mut store, &server);
        }
    }
}

//! Synthetic clients: when each of them calls. One is simulated at a time, so memory is bounded by
//! what one client calls within a window.

use std::f64::consts::TAU;
use std::iter;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rate_limit::core::limit::Limit;
use rate_limit::core::time::{Micros, SECOND};

const MINUTE: Micros = 60 * SECOND;
const DAY: Micros = 1_440 * MINUTE;
const BATCH_GAP: Micros = 20_000;

/// The times of one client's calls, in order.
pub type Calls = Box<dyn Iterator<Item = Micros>>;

/// When the clients of a population call.
#[derive(Clone, Copy)]
pub enum Arrivals {
    /// Independently of each other, at a constant rate.
    Poisson,
    /// The same, ten times as fast, during bursts: 20 s long, 180 s apart, both exponential means.
    Bursts,
    /// A batch at second 0 of each minute, one call every [`BATCH_GAP`], as cron does.
    EachMinute,
    /// The whole limit in the last microsecond of a window, and in the next window one call at
    /// each instant from which the counter has room again.
    Adversary,
}

/// Clients with one pattern of calls, each under one limit a minute, over one day.
///
/// Rates are lognormal: those at the middles of equal shares of the distribution, one a client.
/// Drawn at random, the one or two that chance puts near the limit would decide the figures.
#[derive(Clone, Copy)]
pub struct Population {
    /// What it is called in tables.
    pub name: &'static str,
    /// Calls a minute that a client is allowed.
    pub limit: u32,
    /// Number of clients.
    pub clients: u64,
    /// Calls a minute, the mean over all clients.
    pub mean: f64,
    /// Standard deviation of the logarithm of the clients' rates.
    pub sigma: f64,
    /// When they call.
    pub arrivals: Arrivals,
}

/// Cloudflare's setting at a tenth: 270 000 sources made 400 million requests. Limit, window,
/// duration and rates were not published; these are assumed.
pub const PUBLISHED: Population = Population {
    name: "Poisson, sigma 1",
    limit: 50,
    clients: 27_000,
    mean: 1.03,
    sigma: 1.0,
    arrivals: Arrivals::Poisson,
};
const BURSTS: Population =
    Population { name: "bursts of 20 s, sigma 1", arrivals: Arrivals::Bursts, ..PUBLISHED };
/// Fewer clients, so that a batch is 20 calls on average.
const BATCHES: Population = Population {
    name: "batch each full minute",
    clients: 1_350,
    mean: 20.6,
    arrivals: Arrivals::EachMinute,
    ..PUBLISHED
};
/// One client under `limit`, two windows.
pub const fn adversary(limit: u32) -> Population {
    Population { name: "adversary", limit, clients: 1, arrivals: Arrivals::Adversary, ..PUBLISHED }
}

/// The published setting first, then where the counter is worse, then the worst there can be.
pub const POPULATIONS: [Population; 10] = [
    PUBLISHED,
    Population { name: "Poisson, sigma 1.5", sigma: 1.5, ..PUBLISHED },
    Population { name: "Poisson, sigma 2", sigma: 2.0, ..PUBLISHED },
    BURSTS,
    Population { limit: 10, ..BURSTS },
    BATCHES,
    Population { limit: 10, ..BATCHES },
    adversary(10),
    adversary(100),
    adversary(1_000),
];

impl Population {
    /// The limit that each client is under.
    pub fn limit(&self) -> Limit {
        Limit::new(self.limit.into(), 60).expect("limits of populations are valid")
    }

    /// The calls of one client, 0 to `clients - 1`: the same for the same `seed`, below 2^32.
    pub fn calls(&self, seed: u64, client: u64) -> Calls {
        let z = normal_quantile((client as f64 + 0.5) / self.clients as f64);
        let rate = self.mean * (self.sigma * z - self.sigma.powi(2) / 2.0).exp();
        // xoshiro256++ is specified, so a newer `rand` draws the same numbers.
        let random = Xoshiro256PlusPlus::seed_from_u64(seed << 32 | client);
        match self.arrivals {
            Arrivals::Poisson => bursts(random, rate, f64::INFINITY, 0.0),
            Arrivals::Bursts => bursts(random, rate * 10.0, 20.0, 180.0),
            Arrivals::EachMinute => {
                let batch = (rate.round() as u64).clamp(1, MINUTE / BATCH_GAP);
                let times = move |minute| (0..batch).map(move |i| minute * MINUTE + i * BATCH_GAP);
                Box::new((0..DAY / MINUTE).flat_map(times))
            }
            Arrivals::Adversary => {
                let limit = u64::from(self.limit);
                let burst = iter::repeat_n(MINUTE - 1, limit as usize);
                Box::new(burst.chain((0..limit).map(move |k| MINUTE + k * MINUTE / limit + 1)))
            }
        }
    }
}

/// A Poisson process of `rate` a minute that stands still between bursts. `on` and `off` are mean
/// seconds; an infinite `on` is one burst without end.
fn bursts(mut random: Xoshiro256PlusPlus, rate: f64, on: f64, off: f64) -> Calls {
    let mut exponential = move |mean: f64| -(1.0 - random.random::<f64>()).ln() * mean;
    let (mut now, mut left) = (0.0, exponential(on));
    Box::new(iter::from_fn(move || {
        let mut gap = exponential(60.0 / rate);
        while gap > left {
            gap -= left;
            now += left + exponential(off);
            left = exponential(on);
        }
        left -= gap;
        now += gap;
        let at = (now * SECOND as f64) as Micros;
        (at < DAY).then_some(at)
    }))
}

/// The value below which a standard normal variable stays with `probability`, by halving.
fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if normal_cdf(middle) < probability { low = middle } else { high = middle }
    }
    low
}

/// 1/2 + density(z) * (z + z^3/3 + z^5/(3*5) + ...): Marsaglia, Evaluating the Normal Distribution,
/// Journal of Statistical Software 11 (2004).
fn normal_cdf(z: f64) -> f64 {
    let (mut sum, mut term, mut odd) = (0.0, z, 1.0);
    while sum + term != sum {
        sum += term;
        odd += 2.0;
        term *= z * z / odd;
    }
    0.5 + sum * (-z * z / 2.0).exp() / TAU.sqrt()
}

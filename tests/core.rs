//! The decision functions of `core` against the corpus and against the naive model.

mod support;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use rate_limit::core::counter::{self, Counts, Position};
use rate_limit::core::identity::{Ipv6Prefix, Salt, hashed_as};
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::log;
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::core::verdict::Verdict;
use support::corpus::{self, Ask};
use support::model::Model;

/// The least store there can be: core's functions over plain collections, a call at a time.
#[derive(Default)]
struct Plain {
    times: Vec<Micros>,
    counts: std::collections::HashMap<u64, u64>,
}

impl Plain {
    fn decide(
        &mut self,
        algorithm: Algorithm,
        limit: Limit,
        cost: Cost,
        now: Micros,
        record: bool,
    ) -> Verdict {
        match algorithm {
            Algorithm::Log => self.log(limit, cost, now, record),
            Algorithm::Counter => self.counter(limit, cost, now, record),
        }
    }

    fn log(&mut self, limit: Limit, cost: Cost, now: Micros, record: bool) -> Verdict {
        let horizon = log::horizon(limit, now);
        let counting: Vec<Micros> =
            self.times.iter().copied().filter(|&t| horizon.is_none_or(|h| t > h)).collect();
        let used = counting.len() as u64;
        let nth = |n: u64| counting.get(n as usize - 1).copied().unwrap_or_default();
        let facts = log::Facts {
            used,
            oldest: if used == 0 { 0 } else { nth(1) },
            newest: if used == 0 { 0 } else { nth(used) },
            blocking: log::blocking(limit, used, cost).map_or(0, nth),
        };
        if !record {
            return log::peek(facts, limit, cost, now);
        }
        if log::admits(limit, used, cost) {
            self.times.extend((0..cost.units()).map(|_| now));
        }
        log::attempt(facts, limit, cost, now)
    }

    fn counter(&mut self, limit: Limit, cost: Cost, now: Micros, record: bool) -> Verdict {
        let Position { index, elapsed } = Position::of(limit, now);
        let at = |index: Option<u64>| index.and_then(|i| self.counts.get(&i)).copied().unwrap_or(0);
        let counts = Counts { curr: at(Some(index)), prev: at(index.checked_sub(1)) };
        if !record {
            return counter::peek(counts, limit, cost, elapsed);
        }
        if counter::admits(counts, limit, cost, elapsed) {
            *self.counts.entry(index).or_default() += cost.units();
        }
        counter::attempt(counts, limit, cost, elapsed)
    }
}

#[test]
fn core_decides_as_the_corpus_says() {
    for case in corpus::decisions() {
        let mut state = Plain::default();
        for (i, step) in case.steps.iter().enumerate() {
            let at = |record| (case.algorithm, step.limit, step.cost, step.at, record);
            let (actual, expected) = match &step.ask {
                Ask::Attempt(expected) => {
                    let (a, l, c, t, r) = at(true);
                    (state.decide(a, l, c, t, r), expected)
                }
                Ask::Peek(expected) => {
                    let (a, l, c, t, r) = at(false);
                    (state.decide(a, l, c, t, r), expected)
                }
                Ask::Reset => {
                    state = Plain::default();
                    continue;
                }
            };
            assert_eq!(actual, *expected, "{}, step {i}", case.why);
        }
    }
}

#[test]
fn identities_are_as_the_corpus_says() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("vectors/identity.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let text = |name: &str| case[name].as_str().unwrap();
        let prefix = Ipv6Prefix::new(case["ipv6_prefix"].as_i64().unwrap()).unwrap();
        let client = hashed_as(text("ip").as_bytes(), prefix);
        assert_eq!(client.as_bytes(), text("hashed_as").as_bytes(), "{case}");
        let identity = Salt::new(text("salt").as_bytes()).identity(
            client.as_bytes(),
            text("endpoint").as_bytes(),
            noon(text("utc_date")),
        );
        assert_eq!(String::from_utf8(identity).unwrap(), text("expect"), "{case}");
    }
}

/// Noon of a day in December 2026, written `Y-m-d`.
fn noon(date: &str) -> Micros {
    let day: u64 = date.strip_prefix("2026-12-").unwrap().parse().unwrap();
    (1_796_083_200 + (day - 1) * 86_400 + 43_200) * SECOND
}

/// Costs and gaps that land on, before and after the edges of windows.
type Calls = (Algorithm, u32, Vec<(u32, u64, Micros, bool)>);

fn calls() -> impl Strategy<Value = Calls> {
    let call = |window: Micros| {
        let gap = prop_oneof![
            Just(0),
            Just(1),
            0..window / 4,
            Just(window - 1),
            Just(window),
            0..3 * window,
        ];
        (0_u32..20, 1_u64..12, gap, prop::bool::weighted(0.8))
    };
    (
        prop_oneof![Just(Algorithm::Log), Just(Algorithm::Counter)],
        prop_oneof![Just(1_u32), 1_u32..90],
    )
        .prop_flat_map(move |(algorithm, seconds)| {
            let calls = prop::collection::vec(call(Micros::from(seconds) * SECOND), 1..60);
            (Just(algorithm), Just(seconds), calls)
        })
}

proptest! {
    #[test]
    fn core_decides_as_the_naive_model((algorithm, seconds, calls) in calls(), start in 0..u64::MAX >> 13) {
        let (mut model, mut state, mut now) = (Model::new(algorithm), Plain::default(), start);
        for (max, cost, gap, record) in calls {
            now += gap;
            let limit = Limit::new(i64::from(max), i64::from(seconds)).unwrap();
            let cost = Cost::new(cost as i64, algorithm).unwrap();
            let expected = if record { model.attempt(limit, cost, now) } else { model.peek(limit, cost, now) };
            prop_assert_eq!(state.decide(algorithm, limit, cost, now, record), expected);
        }
    }

    /// From the earliest instant on it passes, and a microsecond before it does not.
    #[test]
    fn counter_waits_are_exact_for_any_numbers(
        max in 0_i64..=i64::from(i32::MAX), seconds in 1_i64..=31_536_000,
        curr in 0_u64..=1 << 31, prev in 0_u64..=1 << 31, cost in 1_i64..=1 << 31, part in 0.0..1.0_f64,
    ) {
        let limit = Limit::new(max, seconds).unwrap();
        let cost = Cost::new(cost, Algorithm::Counter).unwrap();
        let counts = Counts { curr, prev };
        let elapsed = ((limit.window() as f64 * part) as Micros).min(limit.window() - 1);
        let later = |d: Micros| match (elapsed + d) / limit.window() {
            0 => counter::estimate(counts, limit, elapsed + d),
            1 => counter::estimate(Counts { curr: 0, prev: curr }, limit, elapsed + d - limit.window()),
            _ => 0,
        };
        let verdict = counter::peek(counts, limit, cost, elapsed);
        let exact = |wait: Micros, target: u64| later(wait) <= target && (wait == 0 || later(wait - 1) > target);
        match verdict.retry_after {
            None => prop_assert!(cost.units() > u64::from(limit.max())),
            Some(wait) => {
                prop_assert_eq!(verdict.allowed, wait == 0);
                prop_assert!(exact(wait, u64::from(limit.max()) - cost.units()));
            }
        }
        prop_assert!(exact(verdict.reset_after, 0));
        let used = later(0);
        prop_assert!(used == 0 && verdict.replenish_after == 0 || exact(verdict.replenish_after, used - 1));
    }
}

/// Bits of an address, and how many leading ones make a client: written down a second time.
fn client_bits(address: IpAddr, prefix: u8) -> (bool, u128) {
    match address {
        IpAddr::V4(v4) => (true, v4.to_bits().into()),
        IpAddr::V6(v6) => match v6.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                (true, u128::from(high) << 16 | u128::from(low))
            }
            _ => (false, v6.to_bits() >> (128 - prefix)),
        },
    }
}

/// Ways to write one address.
fn spellings(address: IpAddr) -> Vec<String> {
    let IpAddr::V6(v6) = address else {
        let v4 = address;
        return vec![
            v4.to_string(),
            format!("::ffff:{v4}"),
            format!("0:0:0:0:0:FFFF:{v4}"),
            format!("64:ff9b::{v4}"),
        ];
    };
    let groups = v6.segments().map(|group| format!("{group:04X}")).join(":");
    let [.., a, b] = v6.segments();
    let dotted = Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b));
    let head = v6.segments()[..6].iter().map(|group| format!("{group:x}")).collect::<Vec<_>>();
    vec![
        v6.to_string(),
        v6.to_string().to_uppercase(),
        groups.clone(),
        groups + "%eth0",
        format!("{}:{dotted}", head.join(":")),
        format!("{v6}%25"),
    ]
}

/// Addresses of every kind, many of them near one another.
fn address() -> impl Strategy<Value = IpAddr> {
    let v6 = |bits| IpAddr::V6(Ipv6Addr::from_bits(bits));
    let nets = vec![0x2001_0db8_u128 << 96, 0x2002 << 112, 0xfe80 << 112, 0x64_ff9b << 96, 0];
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(v6),
        (prop::sample::select(nets), 0_u32..128).prop_map(move |(net, bit)| v6(net ^ (1 << bit))),
        any::<u32>().prop_map(move |low| v6(0xffff << 32 | u128::from(low))),
        any::<u32>().prop_map(move |low| v6(0x64_ff9b << 96 | u128::from(low))),
    ]
}

proptest! {
    #[test]
    fn spellings_of_one_client_agree_and_other_clients_differ(
        one in address(), other in address(), bit in 0_u32..128, prefix in 1_u8..=128,
    ) {
        let prefix_bits = Ipv6Prefix::new(prefix.into()).unwrap();
        let hashed = |text: &str| hashed_as(text.as_bytes(), prefix_bits).as_bytes().to_vec();
        let expected = hashed(&one.to_string());
        for spelling in spellings(one) {
            prop_assert_eq!(&hashed(&spelling), &expected, "{}", spelling);
        }
        let near = match one {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() ^ (1 << (bit % 32)))),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() ^ (1 << bit))),
        };
        for other in [other, near] {
            let same = client_bits(one, prefix) == client_bits(other, prefix);
            prop_assert_eq!(hashed(&other.to_string()) == expected, same, "{} {}", one, other);
        }
    }
}

#[test]
fn what_is_no_address_is_hashed_as_it_is() {
    let odd = [
        "[2001:db8::1]",
        "2001:db8::1 ",
        "192.0.2.1%eth0",
        "192.0.2.1:80",
        "1.2.3",
        "::1::",
        "fe80::1%",
    ];
    for text in odd {
        assert_eq!(hashed_as(text.as_bytes(), Ipv6Prefix::DEFAULT).as_bytes(), text.as_bytes());
    }
}

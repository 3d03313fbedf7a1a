//! Over midnight any store must answer as if a client had kept one identity.

use std::cell::{Cell, RefCell};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rate_limit::core::identity::Salt;
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::midnight::earlier_days;
use rate_limit::core::time::{DAY, Day, Micros, SECOND, day};
use rate_limit::store::Call;

use super::conformance::Timed;
use super::model::Model;

/// One client's identities: under one salt for all days, or under a key of each day's own.
struct Client {
    managed: bool,
    address: String,
}

impl Client {
    fn on(&self, day: Day) -> Vec<u8> {
        let key = format!("a salt of enough bytes{}", if self.managed { day } else { 0 });
        let at = Micros::from(day) * DAY + 12 * 3_600 * SECOND;
        Salt::new(key.as_bytes()).identity(self.address.as_bytes(), b"trending", at)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    After(Micros),
    /// To the next midnight and this much further, which may be negative.
    Midnight(i64),
}

#[derive(Clone, Debug)]
struct Nights {
    algorithm: Algorithm,
    seconds: i64,
    managed: bool,
    /// From a midnight, microseconds.
    start: Micros,
    calls: Vec<(Step, Op, i64, i64)>,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Attempt,
    Peek,
    Reset,
}

fn nights() -> impl Strategy<Value = Nights> {
    let algorithm = prop_oneof![Just(Algorithm::Log), Just(Algorithm::Counter)];
    let seconds = prop_oneof![
        prop::sample::select(vec![1, 60, 3_600, 43_200, 86_399, 86_400, 86_401, 172_799, 172_800]),
        1_i64..172_800,
    ];
    (algorithm, seconds, any::<bool>(), 0..DAY).prop_flat_map(|(algorithm, seconds, managed, at)| {
        let window = seconds as Micros * SECOND;
        let step = prop_oneof![
            2 => prop_oneof![Just(0), 0..window / 4 + 1, 0..window, 0..2 * window].prop_map(Step::After),
            1 => prop_oneof![Just(-1), Just(0), Just(1), -(window as i64)..window as i64]
                .prop_map(Step::Midnight),
        ];
        let op = prop_oneof![20 => Just(Op::Attempt), 4 => Just(Op::Peek), 1 => Just(Op::Reset)];
        let call = (step, op, prop_oneof![4 => Just(9_i64), 1 => 0..20_i64], 1..5_i64);
        prop::collection::vec(call, 1..40).prop_map(move |calls| {
            let start = DAY - at.min(window.min(DAY)); // before midnight, by less than a window
            Nights { algorithm, seconds, managed, start, calls }
        })
    })
}

/// Runs `cases` random nights that begin on `day`, beside a model that knows one identity alone.
pub fn decides_as_one_unbroken_identity(store: &mut impl Timed, cases: u32, first: Day) {
    let (store, n, looked_back) = (RefCell::new(store), Cell::new(0), Cell::new(0));
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&nights(), |nights| {
            n.set(n.get() + 1);
            let client = Client { managed: nights.managed, address: format!("client {}", n.get()) };
            let found = follow(*store.borrow_mut(), &client, &nights, first)?;
            looked_back.set(looked_back.get() + found);
            Ok(())
        })
        .unwrap();
    assert!(looked_back.get() > cases as usize, "nights in which nothing was at stake");
}

/// Gives how many earlier identities were read.
fn follow(
    store: &mut impl Timed,
    client: &Client,
    nights: &Nights,
    first: Day,
) -> Result<usize, TestCaseError> {
    let algorithm = nights.algorithm;
    let mut model = Model::new(algorithm);
    let (mut now, mut looked_back) = (Micros::from(first) * DAY + nights.start, 0);
    for &(step, op, max, cost) in &nights.calls {
        now = match step {
            Step::After(gap) => now + gap,
            Step::Midnight(offset) => {
                now.max((Micros::from(day(now) + 1) * DAY).wrapping_add_signed(offset))
            }
        };
        let limit = Limit::new(max, nights.seconds).unwrap();
        let cost = Cost::new(cost, algorithm).unwrap();
        let (today, back) = (day(now), earlier_days(algorithm, limit, day(now), now));
        let identity = client.on(today);
        let earlier: Vec<_> = (1..=back).rev().map(|k| client.on(today - k)).collect();
        looked_back += earlier.len();
        let call = Call { algorithm, identity: &identity, earlier: &earlier, limit, cost };
        match op {
            Op::Attempt => prop_assert_eq!(
                store.attempt_at(&call, now).unwrap(),
                model.attempt(limit, cost, now)
            ),
            Op::Peek => {
                prop_assert_eq!(store.peek_at(&call, now).unwrap(), model.peek(limit, cost, now));
            }
            Op::Reset => {
                store.reset(&call).unwrap();
                model.reset();
            }
        }
    }
    Ok(looked_back)
}

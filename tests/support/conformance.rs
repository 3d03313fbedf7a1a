//! What any store must do, whatever holds its state: decide as the corpus says, and as the naive
//! model does on random calls.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::{Micros, SECOND};
use rate_limit::core::verdict::Verdict;
use rate_limit::store::{Call, StoreError};

use super::corpus::{self, Ask};
use super::model::Model;

/// A store whose calls are stamped by the test.
pub trait Timed {
    fn attempt_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError>;
    fn peek_at(&mut self, call: &Call<'_>, now: Micros) -> Result<Verdict, StoreError>;
    fn reset(&mut self, call: &Call<'_>) -> Result<(), StoreError>;
}

/// Runs the corpus, each case on an identity of its own.
pub fn decides_as_the_corpus_says(store: &mut impl Timed) {
    for (n, case) in corpus::decisions().iter().enumerate() {
        let identity = format!("corpus {n}");
        for (i, step) in case.steps.iter().enumerate() {
            let call = Call {
                algorithm: case.algorithm,
                identity: identity.as_bytes(),
                earlier: &[],
                limit: step.limit,
                cost: step.cost,
            };
            let (actual, expected) = match &step.ask {
                Ask::Attempt(expected) => (store.attempt_at(&call, step.at), expected),
                Ask::Peek(expected) => (store.peek_at(&call, step.at), expected),
                Ask::Reset => {
                    store.reset(&call).unwrap();
                    continue;
                }
            };
            assert_eq!(actual.unwrap(), *expected, "{}, step {i}", case.why);
        }
    }
}

/// Runs `cases` random sequences of calls that begin somewhere in `starts`, each on an identity of
/// its own, beside the model.
pub fn decides_as_the_naive_model(store: &mut impl Timed, cases: u32, starts: Range<Micros>) {
    let (store, n) = (RefCell::new(store), Cell::new(0_u64));
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&(sequence(), starts), |(sequence, start)| {
            n.set(n.get() + 1);
            follow(*store.borrow_mut(), &format!("model {}", n.get()), &sequence, start)
        })
        .unwrap();
}

/// Calls on one identity, one algorithm and one window; the limit may change from call to call.
#[derive(Clone, Debug)]
struct Sequence {
    algorithm: Algorithm,
    window_seconds: u32,
    calls: Vec<(Op, u32, u64, Micros)>,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Attempt,
    Peek,
    Reset,
}

fn follow(
    store: &mut impl Timed,
    identity: &str,
    sequence: &Sequence,
    start: Micros,
) -> Result<(), TestCaseError> {
    let algorithm = sequence.algorithm;
    let (mut model, mut now) = (Model::new(algorithm), start);
    for &(op, max, cost, gap) in &sequence.calls {
        now += gap;
        let limit = Limit::new(i64::from(max), i64::from(sequence.window_seconds)).unwrap();
        let cost = Cost::new(cost as i64, algorithm).unwrap();
        let call = Call { algorithm, identity: identity.as_bytes(), earlier: &[], limit, cost };
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
    Ok(())
}

/// Gaps land on, just before and beyond the edges of windows; limits are small enough to be met,
/// and now and then large.
fn sequence() -> impl Strategy<Value = Sequence> {
    let algorithm = prop_oneof![Just(Algorithm::Log), Just(Algorithm::Counter)];
    let seconds = prop_oneof![Just(1_u32), 1_u32..90, Just(31_536_000)];
    (algorithm, seconds).prop_flat_map(|(algorithm, window_seconds)| {
        let window = Micros::from(window_seconds) * SECOND;
        let gap = prop_oneof![
            Just(0),
            Just(1),
            0..window / 4,
            Just(window - 1),
            Just(window),
            0..3 * window
        ];
        let op = prop_oneof![16 => Just(Op::Attempt), 4 => Just(Op::Peek), 1 => Just(Op::Reset)];
        let max = prop_oneof![8 => 0_u32..20, 1 => 0_u32..200];
        let cost = prop_oneof![8 => 1_u64..12, 1 => 1_u64..100];
        prop::collection::vec((op, max, cost, gap), 1..60).prop_map(move |calls| Sequence {
            algorithm,
            window_seconds,
            calls,
        })
    })
}

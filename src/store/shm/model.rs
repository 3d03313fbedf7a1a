//! The counters under a model checker: every order in which two or three workers can take turns
//! (loom), and random orders of more (shuttle). The checker stands in for the processor's
//! compare-and-swap and for the stripe; all else is the code that runs.
//!
//! Most slots are somebody else's for good, and no turn passes when they are looked at; else there
//! would be too many orders to try.

use super::counters::{Ask, Counters, Word};
use super::layout::{CounterBucket, Stats};
use crate::core::counter::Counts;
use crate::core::limit::{Algorithm, Cost, Limit};
use crate::core::time::{Micros, SECOND};
use crate::store::StoreError;
use crate::store::shm::Excess;

const NOW: Micros = 1_796_083_200 * SECOND;

/// An exhausted counter of limit 1 and tag 99, as of [`NOW`]: it is never evicted.
const TAKEN: u128 = (99 << 94) | ((NOW / SECOND / 60) as u128) << 62 | 1;

fn ask(tag: u64, max: i64, cost: i64) -> Ask {
    Ask {
        tag,
        limit: Limit::new(max, 60).unwrap(),
        cost: Cost::new(cost, Algorithm::Counter).unwrap(),
        now: NOW,
        earlier: Counts::default(),
        excess: Excess::Denied,
    }
}

/// Two buckets with two slots that can change: the first of each.
struct Table<W> {
    buckets: [CounterBucket<W>; 2],
    stats: Stats,
}

impl<W: Word> Table<W> {
    fn new(free: impl Fn() -> W, taken: impl Fn() -> W) -> Self {
        let bucket = || CounterBucket {
            words: std::array::from_fn(|n| if n == 0 { free() } else { taken() }),
            metas: std::array::from_fn(|_| ((1 << 32) | 60).into()),
        };
        Self { buckets: [bucket(), bucket()], stats: Stats::default() }
    }

    fn counters(&self) -> Counters<'_, W> {
        let [first, second] = &self.buckets;
        Counters { buckets: [first, second], stats: &self.stats }
    }

    /// Slots that belong to `tag`.
    fn slots_of(&self, tag: u64) -> usize {
        let words = self.buckets.iter().flat_map(|bucket| &bucket.words).map(Word::load);
        words.filter(|word| word >> 94 == u128::from(tag)).count()
    }

    /// Units admitted to `calls` calls, one after the other, by one worker.
    fn spend<G>(&self, ask: Ask, calls: u64, hold: impl Fn() -> G) -> u64 {
        let attempt = |_| self.counters().attempt(ask, || Ok::<_, StoreError>(hold())).unwrap();
        (0..calls).map(attempt).filter(|verdict| verdict.allowed).count() as u64 * ask.cost.units()
    }
}

/// A word whose every access is a turn of the checker's, once as the processor has it and once
/// broken: looked at and written in two turns.
macro_rules! words {
    ($checker:ident) => {
        use $checker::sync::{Arc, Mutex};
        use $checker::thread;

        use super::{TAKEN, Table, ask};
        use crate::store::shm::counters::Word;

        /// `None`: somebody else's for good.
        struct Atomic(Option<Mutex<u128>>);

        impl Word for Atomic {
            fn load(&self) -> u128 {
                self.0.as_ref().map_or(TAKEN, |word| *word.lock().unwrap())
            }

            fn swap(&self, seen: u128, new: u128) -> Result<(), u128> {
                let Some(word) = &self.0 else { return Err(TAKEN) };
                let mut word = word.lock().unwrap();
                if *word == seen { Ok(*word = new) } else { Err(*word) }
            }
        }

        struct Broken(Atomic);

        impl Word for Broken {
            fn load(&self) -> u128 {
                self.0.load()
            }

            fn swap(&self, seen: u128, new: u128) -> Result<(), u128> {
                let now = self.load();
                if now != seen {
                    return Err(now);
                }
                self.0.swap(self.load(), new)
            }
        }

        fn atomic() -> Table<Atomic> {
            Table::new(|| Atomic(Some(Mutex::new(0))), || Atomic(None))
        }

        /// `workers` ask `calls` times each for `cost` of 3 units; what all were admitted.
        fn race<W: Word + Send + Sync + 'static>(
            table: Table<W>,
            workers: usize,
            calls: u64,
            cost: i64,
        ) -> u64 {
            let shared = Arc::new((table, Mutex::new(())));
            let worker = |_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (table, stripe) = &*shared;
                    table.spend(ask(1, 3, cost), calls, || stripe.lock().unwrap())
                })
            };
            let workers: Vec<_> = (0..workers).map(worker).collect();
            let admitted = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
            assert_eq!(shared.0.slots_of(1), 1, "slots of one identity");
            admitted
        }
    };
}

mod every_order {
    words!(loom);

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    #[test]
    fn two_workers_on_a_fresh_identity_get_one_slot_and_the_limit() {
        check(|| assert_eq!(race(atomic(), 2, 2, 1), 3));
    }

    #[test]
    fn three_workers_on_a_fresh_identity_get_one_slot_and_the_limit() {
        check(|| assert_eq!(race(atomic(), 3, 1, 2), 2));
    }

    #[test]
    fn a_reset_forgets_all_or_nothing_of_a_racing_call() {
        check(|| {
            let shared = Arc::new((atomic(), Mutex::new(())));
            let stripe = || shared.1.lock().unwrap();
            assert_eq!(shared.0.spend(ask(1, 3, 1), 3, stripe), 3);
            let other = Arc::clone(&shared);
            let resetting = thread::spawn(move || other.0.counters().take(1, 60 * super::SECOND));
            let admitted = shared.0.spend(ask(1, 3, 1), 1, stripe);
            resetting.join().unwrap();
            let left = shared.0.counters().peek(ask(1, 3, 1)).remaining;
            assert!([(0, 3), (1, 2)].contains(&(admitted, left)), "{admitted}, {left}");
        });
    }

    #[test]
    fn identities_that_race_for_the_last_slots_get_one_each() {
        check(|| {
            let shared = Arc::new(atomic());
            let (one, two) = (Arc::clone(&shared), Arc::clone(&shared));
            // Different identities have different stripes, which keep nobody out here.
            let first = thread::spawn(move || one.spend(ask(1, 1, 1), 1, || ()));
            let second = thread::spawn(move || two.spend(ask(2, 1, 1), 1, || ()));
            assert_eq!((first.join().unwrap(), second.join().unwrap()), (1, 1));
            assert_eq!((shared.slots_of(1), shared.slots_of(2)), (1, 1));
        });
    }

    #[test]
    #[should_panic(expected = "left == right")]
    fn a_swap_in_two_steps_is_found_out() {
        let broken = || Broken(Atomic(Some(Mutex::new(0))));
        check(move || assert_eq!(race(Table::new(broken, || Broken(Atomic(None))), 2, 2, 1), 3));
    }

    #[test]
    #[should_panic(expected = "slots of one identity")]
    fn an_insertion_without_the_stripe_is_found_out() {
        check(|| {
            let shared = Arc::new(atomic());
            let other = Arc::clone(&shared);
            let worker = thread::spawn(move || other.spend(ask(1, 3, 1), 1, || ()));
            shared.spend(ask(1, 3, 1), 1, || ());
            worker.join().unwrap();
            assert_eq!(shared.slots_of(1), 1, "slots of one identity");
        });
    }
}

mod random_orders {
    words!(shuttle);

    #[test]
    fn four_workers_of_four_calls_get_the_limit() {
        shuttle::check_random(|| assert_eq!(race(atomic(), 4, 4, 1), 3), 2_000);
    }

    #[test]
    #[should_panic(expected = "left == right")]
    fn a_swap_in_two_steps_is_found_out() {
        let broken = || Broken(Atomic(Some(Mutex::new(0))));
        let model =
            move || assert_eq!(race(Table::new(broken, || Broken(Atomic(None))), 4, 4, 1), 3);
        shuttle::check_random(model, 2_000);
    }
}

//! Logs: a table of words that say where a log's entries lie, and lines that hold them.
//!
//! A log changes with the identity's stripe held, so that it is read, decided upon and written in one
//! step; what must be in which order for a crash is in [`super::layout`]. A denied call changes
//! nothing and needs no stripe: see [`Logs::denied`]. So whoever hammers a log keeps nobody waiting.
//!
//! A call looks at the ends of the log alone: its cost does not grow with the limit. (Entries that
//! have left the window are dropped once each; a denied call of cost c, or after the limit was
//! lowered by c, walks c / 10 links to say when it could pass.)

use std::sync::atomic::{
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    fence,
};

use super::Excess;
use super::layout::{BUCKET, ENTRIES, LogSlot, STRIPES, Stripe};
use super::lines::Lines;
use super::log_word::LogWord;
use super::rank::Meta;
use super::stripes::{Holding, Stripes};
use crate::core::limit::{Cost, Limit};
use crate::core::log::{self, Facts};
use crate::core::time::Micros;
use crate::store::{Owed, StoreError};

/// Entries that a denied call walks along at the most without holding the stripe.
const NEARBY: u64 = 1_000;

/// A call on a log.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    /// Says whose log is meant; not 0. The stripe is `tag` modulo [`STRIPES`].
    pub tag: u64,
    /// Numbers of the two buckets in which the slot may lie.
    pub buckets: [usize; 2],
    pub limit: Limit,
    pub cost: Cost,
    pub now: Micros,
    /// Entries of the client's earlier identities that count.
    pub before: u64,
    pub excess: Excess,
}

impl Ask {
    /// Whether this call is recorded where `used` entries of its own identity count.
    fn records(&self, used: u64) -> bool {
        self.excess != Excess::Denied || self.admits(used)
    }

    fn admits(&self, used: u64) -> bool {
        log::admits(self.limit, self.before + used, self.cost)
    }
}

/// The facts about a log, and the time at which they hold: not before its newest entry.
pub(super) type Seen = (Facts, Micros);

/// All logs.
#[derive(Clone, Copy)]
pub(super) struct Logs<'a> {
    pub pool: Lines<'a>,
    pub stripes: Stripes<'a>,
}

impl<'a> Logs<'a> {
    /// Records if that is admitted. Gives the facts before.
    pub fn attempt(self, ask: &Ask) -> Result<Seen, StoreError> {
        if ask.excess == Excess::Denied
            && let Some(denied) = self.denied(ask)
        {
            return Ok(denied);
        }
        let holding = self.hold(ask.tag)?;
        let number = match self.find(ask.tag, ask.buckets) {
            Some(number) => number,
            None if ask.records(0) => self.claim_slot(ask)?,
            None => return Ok((Facts::default(), ask.now)),
        };
        let mut open = self.open(number, &holding);
        let (facts, now) = open.facts(ask);
        if ask.excess == Excess::Displaces {
            let most = u64::from(ask.limit.max()).saturating_sub(ask.cost.units());
            open.drop_oldest(facts.used.saturating_sub(most) as u32);
        }
        if ask.records(facts.used) {
            open.append(ask.cost, now)?;
            open.slot.meta.store(Meta::of(ask.limit).bits(), Relaxed); // a hint
        }
        Ok((facts, now))
    }

    /// Gives the facts. Records nothing.
    pub fn peek(self, ask: &Ask) -> Result<Seen, StoreError> {
        if let Some(denied) = self.denied(ask) {
            return Ok(denied);
        }
        let holding = self.hold(ask.tag)?;
        Ok(match self.find(ask.tag, ask.buckets) {
            Some(number) => self.open(number, &holding).facts(ask),
            None => (Facts::default(), ask.now),
        })
    }

    /// Forgets the log.
    pub fn reset(self, tag: u64, buckets: [usize; 2]) -> Result<(), StoreError> {
        let holding = self.hold(tag)?;
        if let Some(number) = self.find(tag, buckets) {
            self.remove(number, &holding);
        }
        Ok(())
    }

    /// Frees a slot and its lines.
    pub(super) fn remove(self, number: u32, holding: &Holding<'_>) {
        self.open(number, holding).remove();
    }

    /// The facts where the call is denied by entries that all count, with nothing held. `None`: it is
    /// not, or the log changed meanwhile.
    ///
    /// What the word reaches stays as it is for as long as the word does (layout, invariant 8), so
    /// a word that is the same afterwards vouches for the entries that were read in between.
    fn denied(self, ask: &Ask) -> Option<Seen> {
        let slot = self.pool.slot(self.find(ask.tag, ask.buckets)?)?;
        // Acquire: pairs with the Release in `publish`; so that the entries are there.
        let seen = slot.word.load(Acquire);
        let log = self.plausible(seen);
        let used = u64::from(log.length);
        if used == 0 || ask.admits(used) {
            return None;
        }
        let newest = log.newest(self.pool.line(log.last));
        let now = ask.now.max(newest);
        let oldest = self.nth(log, 1, newest);
        if log::horizon(ask.limit, now).is_some_and(|horizon| oldest <= horizon) {
            return None;
        }
        let blocking = match log::blocking(ask.limit, used, ask.cost) {
            Some(n) if n > NEARBY => return None,
            Some(n) => self.nth(log, n, newest),
            None => 0,
        };
        // Pairs with the Release with which entries and links are written; so that whoever read
        // one of a line's next owner sees that the word has changed.
        fence(Acquire);
        let same = slot.word.load(Relaxed) == seen && slot.tag.load(Relaxed) == ask.tag;
        same.then_some((Facts { used, oldest, newest, blocking }, now))
    }

    /// What a word says, or nothing if it says that a log is longer than all lines together.
    fn plausible(self, word: u128) -> LogWord {
        let log = LogWord::read(word);
        if log.lines() as usize <= self.pool.lines.len() { log } else { LogWord::default() }
    }

    /// The time of a log's `n`-th oldest entry, from 1.
    fn nth(self, log: LogWord, n: u64, newest: Micros) -> Micros {
        let place = u64::from(log.head) + n - 1;
        let mut line = log.first;
        for _ in 0..place / u64::from(ENTRIES) {
            line = self.next(line);
        }
        self.pool.line(line).entry((place % u64::from(ENTRIES)) as u32, newest)
    }

    fn next(self, line: u32) -> u32 {
        // Relaxed: the word whose Acquire or lock came before vouches for it.
        self.pool.line(line).next.load(Relaxed)
    }

    /// Takes the oldest entries, as many as `into` has room for, and says how many.
    pub fn take(self, ask: &Ask, into: &mut [Owed]) -> Result<usize, StoreError> {
        let holding = self.hold(ask.tag)?;
        let Some(number) = self.find(ask.tag, ask.buckets) else { return Ok(0) };
        let mut open = self.open(number, &holding);
        let newest = open.log.newest(self.pool.line(open.log.last));
        let count = into.len().min(open.log.length as usize);
        for (nth, owed) in (1..).zip(&mut into[..count]) {
            *owed = Owed { at: self.nth(open.log, nth, newest), units: 1 };
        }
        if count < open.log.length as usize {
            open.drop_oldest(count as u32);
        } else {
            open.remove();
        }
        Ok(count)
    }

    fn hold(self, tag: u64) -> Result<Holding<'a>, StoreError> {
        self.stripes.hold(stripe(tag), self.pool)
    }

    fn open<'h>(self, number: u32, holding: &'h Holding<'_>) -> Open<'h>
    where
        'a: 'h,
    {
        holding.changing(number);
        let slot = self.pool.slot(number).expect("a slot that was found");
        let log = self.plausible(slot.word.load(Relaxed)); // written with the stripe held
        Open { logs: self, stripe: holding.stripe, slot, number, log }
    }

    /// The slots of a bucket and their numbers.
    pub(super) fn slots(self, bucket: usize) -> impl Iterator<Item = (u32, &'a LogSlot)> {
        let slots = self.pool.buckets[bucket].0.iter().enumerate();
        slots.map(move |(i, slot)| ((bucket * BUCKET + i) as u32, slot))
    }

    fn find(self, tag: u64, buckets: [usize; 2]) -> Option<u32> {
        let mut slots = buckets.into_iter().flat_map(|bucket| self.slots(bucket));
        // Relaxed: this identity's tag comes and goes only with the stripe held.
        slots.find(|(_, slot)| slot.tag.load(Relaxed) == tag).map(|(number, _)| number)
    }
}

/// The number of the stripe of the log with this tag.
pub(super) fn stripe(tag: u64) -> usize {
    tag as usize % STRIPES
}

/// One log, with its stripe held.
struct Open<'a> {
    logs: Logs<'a>,
    stripe: &'a Stripe,
    slot: &'a LogSlot,
    number: u32,
    /// What the slot's word says.
    log: LogWord,
}

impl Open<'_> {
    /// Drops what no longer counts and says what is left, and when the call is decided: where a
    /// later call was faster, at that one's time, so that entries never step back.
    fn facts(&mut self, ask: &Ask) -> (Facts, Micros) {
        if self.log.length == 0 {
            return (Facts::default(), ask.now);
        }
        let newest = self.log.newest(self.logs.pool.line(self.log.last));
        let now = ask.now.max(newest);
        if let Some(horizon) = log::horizon(ask.limit, now) {
            self.trim(horizon, newest);
        }
        let used = u64::from(self.log.length);
        let nth = |n: u64| if used == 0 { 0 } else { self.logs.nth(self.log, n, newest) };
        let blocking = log::blocking(ask.limit, used, ask.cost).map_or(0, nth);
        (Facts { used, oldest: nth(1), newest, blocking }, now)
    }

    /// Drops the entries that are not later than `horizon`.
    fn trim(&mut self, horizon: Micros, newest: Micros) {
        if newest <= horizon {
            return self.publish(LogWord::default(), self.log.lines());
        }
        self.drop_while(|oldest, _| oldest <= horizon, newest);
    }

    /// Drops the `count` oldest entries.
    fn drop_oldest(&mut self, count: u32) {
        let newest = self.log.newest(self.logs.pool.line(self.log.last));
        if count >= self.log.length {
            return self.publish(LogWord::default(), self.log.lines());
        }
        self.drop_while(|_, dropped| dropped < count, newest);
    }

    /// Drops the oldest entry, but never the newest of all, while `goes` says so of its time and of
    /// how many went before.
    fn drop_while(&mut self, goes: impl Fn(Micros, u32) -> bool, newest: Micros) {
        let (mut log, mut left) = (self.log, 0);
        while log.length > 1
            && goes(
                self.logs.pool.line(log.first).entry(log.head, newest),
                self.log.length - log.length,
            )
        {
            log.length -= 1;
            log.head += 1;
            if log.head == ENTRIES {
                (log.head, log.first) = (0, self.logs.next(log.first));
                left += 1;
            }
        }
        if log != self.log {
            self.publish(log, left);
        }
    }

    /// Records `cost` entries at `now`.
    fn append(&mut self, cost: Cost, now: Micros) -> Result<(), StoreError> {
        let (mut log, reached) = (self.log, self.log.lines());
        for _ in 0..cost.units() {
            let place = log.tail();
            if place == 0 {
                let line = match self.logs.claim_line(self.number, self.stripe, now) {
                    Ok(line) => line,
                    Err(error) => {
                        self.give_up(log, reached);
                        return Err(error);
                    }
                };
                match log.length {
                    0 => (log.first, log.head) = (line, 0),
                    // Release: pairs with the fence in `denied`.
                    _ => self.logs.pool.line(log.last).next.store(line, Release),
                }
                log.last = line;
            }
            self.logs.pool.line(log.last).write(place, now);
            log.length += 1;
        }
        log.era = LogWord::era(now);
        self.publish(log, 0);
        Ok(())
    }

    /// Frees the lines of `longer` beyond the first `reached`, all that the slot's word reaches.
    fn give_up(&self, longer: LogWord, reached: u32) {
        let mut line = longer.first;
        for _ in 0..reached {
            line = self.logs.next(line);
        }
        self.logs.pool.free(line, longer.lines() - reached, self.number, self.stripe);
    }

    /// Makes `log` what the word says, and frees the first `left` lines, which it no longer reaches.
    fn publish(&mut self, log: LogWord, left: u32) {
        // Release: pairs with the lock's hand-over; so that whoever sees this word, also after this
        // worker died right here, sees the entries and links that it reaches.
        self.slot.word.store(log.word(), Release);
        let old = std::mem::replace(&mut self.log, log);
        self.logs.pool.free(old.first, left, self.number, self.stripe);
    }

    /// Frees the slot and its lines.
    fn remove(mut self) {
        self.publish(LogWord::default(), self.log.lines());
        // AcqRel: pairs with the Acquire in `claim_slot`.
        self.slot.tag.swap(0, AcqRel);
        self.logs.pool.stats.logs.fetch_sub(1, Relaxed); // a statistic
    }
}

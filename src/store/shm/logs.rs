//! Logs: a table of words that say where a log's entries lie, and lines that hold them.
//!
//! Everything here happens with the identity's stripe held, so that a log is read, decided upon and
//! written in one step; what must be in which order for a crash is in [`super::layout`]. A call looks
//! at the ends of the log alone: its cost does not grow with the limit. (Entries that have left the
//! window are dropped once each; a denied call of cost c, or after the limit was lowered by c, walks
//! c / 10 links to say when it could pass.)

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::layout::{BUCKET, ENTRIES, LogSlot, STRIPES, Stripe};
use super::lines::Lines;
use super::log_word::LogWord;
use super::rank::{self, Meta, Rank};
use super::stripes::{Holding, Stripes};
use crate::core::limit::{Cost, Limit};
use crate::core::log::{self, Facts};
use crate::core::time::Micros;
use crate::store::StoreError;

/// Tries to get a slot, or a line, each lost to others or to a victim that is in use.
const TRIES: usize = 16;
/// Victims that are compared when lines have run out.
const SAMPLE: usize = 16;
/// Buckets that are looked at to find them.
const BUCKETS_LOOKED_AT: usize = 1024;

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
        let holding = self.hold(ask.tag)?;
        let number = match self.find(ask) {
            Some(number) => number,
            None if log::admits(ask.limit, ask.before, ask.cost) => self.claim_slot(ask)?,
            None => return Ok((Facts::default(), ask.now)),
        };
        let mut open = self.open(number, &holding);
        let (facts, now) = open.facts(ask);
        if log::admits(ask.limit, ask.before + facts.used, ask.cost) {
            open.append(ask.cost, now)?;
            open.slot.meta.store(Meta::of(ask.limit).bits(), Relaxed); // a hint
        }
        Ok((facts, now))
    }

    /// Gives the facts. Records nothing.
    pub fn peek(self, ask: &Ask) -> Result<Seen, StoreError> {
        let holding = self.hold(ask.tag)?;
        Ok(match self.find(ask) {
            Some(number) => self.open(number, &holding).facts(ask),
            None => (Facts::default(), ask.now),
        })
    }

    /// Forgets the log.
    pub fn reset(self, ask: &Ask) -> Result<(), StoreError> {
        let holding = self.hold(ask.tag)?;
        if let Some(number) = self.find(ask) {
            self.open(number, &holding).remove();
        }
        Ok(())
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
        let log = LogWord::read(slot.word.load(Relaxed)); // written with the stripe held
        // Of a log that is longer than all lines together nothing can be right.
        let possible = log.lines() as usize <= self.pool.lines.len();
        let log = if possible { log } else { LogWord::default() };
        Open { logs: self, stripe: holding.stripe, slot, number, log }
    }

    /// The slots of a bucket and their numbers.
    fn slots(self, bucket: usize) -> impl Iterator<Item = (u32, &'a LogSlot)> {
        let slots = self.pool.buckets[bucket].0.iter().enumerate();
        slots.map(move |(i, slot)| ((bucket * BUCKET + i) as u32, slot))
    }

    fn find(self, ask: &Ask) -> Option<u32> {
        let mut slots = ask.buckets.into_iter().flat_map(|bucket| self.slots(bucket));
        // Relaxed: this identity's tag comes and goes only with the stripe held.
        slots.find(|(_, slot)| slot.tag.load(Relaxed) == ask.tag).map(|(number, _)| number)
    }

    /// With the stripe held, makes a slot the identity's.
    fn claim_slot(self, ask: &Ask) -> Result<u32, StoreError> {
        let mut passed_over = [u32::MAX; TRIES];
        for nth in 0..TRIES {
            let ranked = ask.buckets.map(|bucket| {
                self.slots(bucket)
                    .filter(|(number, _)| !passed_over.contains(number))
                    .map(|(number, slot)| ((number, slot), self.rank(slot, ask.now)))
            });
            let ((number, slot), rank) = rank::first_to_go(ranked).ok_or(StoreError::Full)?;
            if rank != Rank::Free && self.evict(number, ask.now).is_none() {
                passed_over[nth] = number;
                continue;
            }
            // Acquire: pairs with the Release in `remove`; so that the last owner's log is gone.
            if slot.tag.compare_exchange(0, ask.tag, Acquire, Relaxed).is_ok() {
                self.pool.stats.logs.fetch_add(1, Relaxed); // a statistic
                return Ok(number);
            }
        }
        Err(StoreError::Busy { after_ms: 0 })
    }

    /// Frees a slot and its lines, unless its stripe is held or its owner may no longer go.
    /// Returns one of the lines.
    fn evict(self, number: u32, now: Micros) -> Option<u32> {
        let slot = self.pool.slot(number)?;
        let tag = slot.tag.load(Relaxed); // checked again below
        let holding = self.stripes.try_hold(stripe(tag), self.pool)?;
        let rank = self.rank(slot, now);
        if tag == 0 || slot.tag.load(Relaxed) != tag || !rank.may_go() {
            return None;
        }
        let open = self.open(number, &holding);
        let line = open.log.first;
        open.remove();
        let stats = self.pool.stats;
        let counted = match rank {
            Rank::Live { .. } => &stats.evicted_live,
            _ => &stats.evicted_expired,
        };
        counted.fetch_add(1, Relaxed); // a statistic
        Some(line)
    }

    /// A line for slot `number`, a victim's if none is free.
    fn claim_line(self, number: u32, stripe: &Stripe, now: Micros) -> Result<u32, StoreError> {
        for _ in 0..TRIES {
            if let Some(line) = self.pool.claim(number, stripe) {
                return Ok(line);
            }
            let victim = self.victim(number, now).ok_or(StoreError::Full)?;
            if let Some(line) = self.evict(victim, now) {
                stripe.line.store(line, Relaxed); // a hint
            }
        }
        Err(StoreError::Full)
    }

    /// The first to go among some logs that have lines, other than `but`.
    fn victim(self, but: u32, now: Micros) -> Option<u32> {
        let count = self.pool.buckets.len();
        let start = self.pool.hands.victim.load(Relaxed) as usize; // a hint
        let mut looked_at = 0;
        let mut best: Option<(u32, Rank)> = None;
        let mut bucket = start % count;
        for _ in 0..BUCKETS_LOOKED_AT.min(count) {
            for (number, slot) in self.slots(bucket) {
                let idle = LogWord::read(slot.word.load(Relaxed)).length == 0;
                if slot.tag.load(Relaxed) == 0 || idle || number == but {
                    continue;
                }
                looked_at += 1;
                let rank = self.rank(slot, now);
                if rank.may_go() && best.is_none_or(|(_, least)| rank < least) {
                    best = Some((number, rank));
                }
            }
            bucket = (bucket + 1) % count;
            if looked_at >= SAMPLE {
                break;
            }
        }
        self.pool.hands.victim.store(bucket as u32, Relaxed); // a hint
        best.map(|(number, _)| number)
    }

    /// How readily a log is given away. Exact with its stripe held; without it, a guess.
    fn rank(self, slot: &LogSlot, now: Micros) -> Rank {
        let log = LogWord::read(slot.word.load(Relaxed));
        let Some(limit) = Meta::read(&slot.meta).limit().filter(|_| log.length > 0) else {
            return if slot.tag.load(Relaxed) == 0 { Rank::Free } else { Rank::Expired };
        };
        let newest = log.newest(self.pool.line(log.last));
        let oldest = self.pool.line(log.first).entry(log.head, newest);
        let gone = |time| log::horizon(limit, now.max(newest)).is_some_and(|h| time <= h);
        match u64::from(log.length) {
            _ if gone(newest) => Rank::Expired,
            // As many as the limit, but not all of them count any more.
            used if gone(oldest) => {
                Rank::of(used.min(u64::from(limit.max()).saturating_sub(1)).max(1), limit)
            }
            used => Rank::of(used, limit),
        }
    }
}

fn stripe(tag: u64) -> usize {
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
        let nth = |n: u64| if used == 0 { 0 } else { self.nth(n, newest) };
        let blocking = log::blocking(ask.limit, used, ask.cost).map_or(0, nth);
        (Facts { used, oldest: nth(1), newest, blocking }, now)
    }

    /// The time of the `n`-th oldest entry, from 1.
    fn nth(&self, n: u64, newest: Micros) -> Micros {
        let place = u64::from(self.log.head) + n - 1;
        let mut line = self.log.first;
        for _ in 0..place / u64::from(ENTRIES) {
            line = self.next(line);
        }
        self.logs.pool.line(line).entry((place % u64::from(ENTRIES)) as u32, newest)
    }

    fn next(&self, line: u32) -> u32 {
        self.logs.pool.line(line).next.load(Relaxed) // written with the stripe held
    }

    /// Drops the entries that are not later than `horizon`.
    fn trim(&mut self, horizon: Micros, newest: Micros) {
        let mut log = self.log;
        if newest <= horizon {
            return self.publish(LogWord::default(), log.lines());
        }
        let mut left = 0;
        while log.length > 1 && self.logs.pool.line(log.first).entry(log.head, newest) <= horizon {
            log.length -= 1;
            log.head += 1;
            if log.head == ENTRIES {
                (log.head, log.first) = (0, self.next(log.first));
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
                    // Relaxed: the word's Release comes after it.
                    _ => self.logs.pool.line(log.last).next.store(line, Relaxed),
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
            line = self.next(line);
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

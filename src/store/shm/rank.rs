//! Who goes first when there is no room: the free, then the expired, then whoever has used the
//! smallest share of a limit. Who has used all of it never goes: a flood of fresh identities would
//! otherwise set an attacker free.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::core::limit::Limit;

/// What a slot says about its owner's limit: limit 32 | window in seconds 32.
#[derive(Clone, Copy)]
pub(super) struct Meta(u64);

impl Meta {
    pub fn of(limit: Limit) -> Self {
        Self((u64::from(limit.max()) << 32) | u64::from(limit.window_seconds()))
    }

    /// A hint for ranking: of a slot that is changing hands it may be the last owner's.
    pub fn read(meta: &AtomicU64) -> Self {
        Self(meta.load(Relaxed))
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    /// `None` where the bits are no limit, in a slot whose owner died before writing them.
    pub fn limit(self) -> Option<Limit> {
        Limit::new((self.0 >> 32) as i64, i64::from(self.0 as u32)).ok()
    }
}

/// How readily a slot is given away; the least goes first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rank {
    /// Nobody's.
    Free,
    /// Somebody's, with nothing used any more.
    Expired,
    /// `used` of `limit` units.
    Live {
        /// At most 2^32.
        used: u64,
        /// At most 2^31 - 1.
        limit: u64,
    },
}

impl Rank {
    pub fn of(used: u64, limit: Limit) -> Self {
        match used {
            0 => Self::Expired,
            used => Self::Live { used, limit: u64::from(limit.max()) },
        }
    }

    /// Whether this may be evicted at all.
    pub fn may_go(self) -> bool {
        !matches!(self, Self::Live { used, limit } if used >= limit)
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Live { used: a, limit: m }, Self::Live { used: b, limit: n }) => {
                (a * n).cmp(&(b * m)) // a / m against b / n
            }
            (Self::Live { .. }, _) => Ordering::Greater,
            (_, Self::Live { .. }) => Ordering::Less,
            _ => matches!(self, Self::Expired).cmp(&matches!(other, Self::Expired)),
        }
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Which slot of an identity's two buckets a fresh identity takes: one in the bucket with more room,
/// so that buckets fill equally, and if neither has any, the lowest rank. `None`: nobody may go.
pub(super) fn first_to_go<S>(
    [first, second]: [impl Iterator<Item = (S, Rank)>; 2],
) -> Option<(S, Rank)> {
    let ((room, one), (more, other)) = (lowest(first), lowest(second));
    if room + more > 0 {
        return if more > room { other } else { one };
    }
    one.into_iter().chain(other).min_by_key(|&(_, rank)| rank)
}

/// How many slots hold nothing that counts, and the lowest rank.
fn lowest<S>(slots: impl Iterator<Item = (S, Rank)>) -> (usize, Option<(S, Rank)>) {
    let (mut room, mut lowest) = (0, None);
    for (slot, rank) in slots.filter(|(_, rank)| rank.may_go()) {
        room += usize::from(!matches!(rank, Rank::Live { .. }));
        if lowest.as_ref().is_none_or(|&(_, least)| rank < least) {
            lowest = Some((slot, rank));
        }
    }
    (room, lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_go_before_the_expired_before_the_smallest_share_and_the_exhausted_never() {
        let live = |used, max| Rank::of(used, Limit::new(max, 60).unwrap());
        let order = [Rank::Free, live(0, 9), live(1, 100), live(1, 10), live(50, 100), live(9, 10)];
        assert!(order.is_sorted_by(|a, b| a < b));
        assert!(order.iter().all(|rank| rank.may_go()));
        assert!([live(10, 10), live(11, 10), live(1, 0)].iter().all(|rank| !rank.may_go()));
        assert_eq!(live(1, 10), live(10, 100));
    }

    #[test]
    fn a_fresh_identity_goes_where_there_is_more_room() {
        let live = |used| Rank::of(used, Limit::new(10, 60).unwrap());
        let chosen = |a: &[Rank], b: &[Rank]| {
            let slots = |from, ranks: &[Rank]| (from..).zip(ranks.to_vec());
            first_to_go([slots(0, a), slots(100, b)]).map(|(slot, _)| slot)
        };
        assert_eq!(chosen(&[live(3), Rank::Free], &[Rank::Expired, live(0)]), Some(100));
        assert_eq!(chosen(&[Rank::Free, live(1)], &[live(1), Rank::Expired]), Some(0));
        assert_eq!(chosen(&[live(3), live(2)], &[live(4), live(1)]), Some(101));
        assert_eq!(chosen(&[live(10)], &[live(9)]), Some(100));
        assert_eq!(chosen(&[live(10)], &[live(11)]), None);
    }
}

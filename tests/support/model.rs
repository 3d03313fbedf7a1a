//! A limiter too simple to be wrong: every admitted unit is a time in a list, waits are found by
//! asking the question again at each instant where the answer can change.

use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::Micros;
use rate_limit::core::verdict::Verdict;

/// The admitted units of one identity.
pub struct Model {
    algorithm: Algorithm,
    admitted: Vec<Micros>,
}

impl Model {
    pub fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, admitted: Vec::new() }
    }

    pub fn reset(&mut self) {
        self.admitted.clear();
    }

    pub fn attempt(&mut self, limit: Limit, cost: Cost, now: Micros) -> Verdict {
        let before = self.peek(limit, cost, now);
        if !before.allowed {
            return before;
        }
        self.admitted.extend((0..cost.units()).map(|_| now));
        Verdict { allowed: true, retry_after: Some(0), ..self.peek(limit, cost, now) }
    }

    pub fn peek(&self, limit: Limit, cost: Cost, now: Micros) -> Verdict {
        let (max, cost) = (u128::from(limit.max()), u128::from(cost.units()));
        let used = self.used(limit, now);
        Verdict {
            allowed: used + cost <= max,
            limit: limit.max(),
            remaining: max.saturating_sub(used) as u32,
            retry_after: (cost <= max).then(|| self.wait(limit, now, max - cost)),
            replenish_after: if used == 0 { 0 } else { self.wait(limit, now, used - 1) },
            reset_after: self.wait(limit, now, 0),
        }
    }

    /// Units used at `now`, of those admitted until now.
    fn used(&self, limit: Limit, now: Micros) -> u128 {
        let window = limit.window();
        match self.algorithm {
            Algorithm::Log => self.admitted.iter().filter(|&&t| t + window > now).count() as u128,
            Algorithm::Counter => {
                let in_window = |index: Option<u64>| {
                    self.admitted.iter().filter(|&&t| Some(t / window) == index).count() as u128
                };
                let index = now / window;
                let weight = u128::from(window - now % window);
                in_window(Some(index))
                    + in_window(index.checked_sub(1)) * weight / u128::from(window)
            }
        }
    }

    /// The least d for which at most `target` units are used at `now + d`. Usage only falls while
    /// nobody is admitted, so halving finds it.
    fn wait(&self, limit: Limit, now: Micros, target: u128) -> Micros {
        let fits = |d: Micros| self.used(limit, now + d) <= target;
        let (mut no, mut yes) = (0, 2 * limit.window());
        if fits(0) {
            return 0;
        }
        assert!(fits(yes), "nothing counts after two windows");
        while yes - no > 1 {
            let middle = no + (yes - no) / 2;
            if fits(middle) { yes = middle } else { no = middle }
        }
        yes
    }
}

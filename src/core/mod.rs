//! What is right: limits, window arithmetic, verdicts, identities, as functions of their arguments.
//!
//! Nothing here does I/O, reads a clock, names PHP, or allocates while deciding. The formulas are
//! in integers throughout: `10.0 * (1.0 - 0.9)` is 0.9999999999999998.
#![forbid(unsafe_code)]

pub mod counter;
pub mod identity;
pub mod limit;
pub mod log;
pub mod midnight;
pub mod spelling;
pub mod time;
pub mod verdict;

//! Sliding-window rate limiting for PHP, in five hops: [`php`](crate) parses a call into core types,
//! [`limiter`] picks what answers it, a [`store`] decides in one atomic step by the formulas of
//! [`core`], and a verdict comes straight back. ARCHITECTURE.md draws the house.

pub mod clock;
pub mod core;
pub mod limiter;
#[cfg(feature = "shm")]
pub mod metrics;
#[cfg(feature = "php")]
mod php;
pub mod process;
pub mod store;
#[cfg(feature = "shm")]
pub mod tally;

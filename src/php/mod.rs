//! The PHP side: parse a call, ask the limiter, hand back the answer. The only module that names
//! ext_php_rs.
//!
//! [`module`] is where PHP begins; [`limiter`] is what the two classes do; [`backend`] turns their first
//! argument into a store; [`call`] is how every function is entered. Nothing is decided here.

mod answer;
mod backend;
mod call;
mod client;
mod day_keys;
mod enums;
mod exceptions;
#[cfg(feature = "frozen-clock")]
mod freeze;
mod identity;
mod limiter;
mod limiter_class;
mod log;
mod memory;
mod metrics;
mod module;
mod object;
mod phpredis;
mod salt;
mod servers;
mod settings;
mod settings_text;
mod status;
mod value;
mod verdict;
mod zend;

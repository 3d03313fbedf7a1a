//! What the tests share. Each test binary uses a part of it.
#![allow(dead_code)]

pub mod conformance;
pub mod corpus;
pub mod forks;
pub mod model;
pub mod server;
#[cfg(feature = "cli")]
pub mod tool;
